"""``vermilion advise``: what should the queue be? For people who have never seen a scenario."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from vermilion.cli import options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import save_json, write_json
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, note, output_file, say
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from vermilion.advise import Present, Question
    from vermilion.advise.varying import VaryingAdvice

_QUESTIONS: Final = {
    "--rate": "Line rate, like '50 Mbit/s'",
    "--rtt": "Range of base round trips, like '10 ms .. 60 ms'",
    "--flows": "Long transfers at a time, like '2 .. 40'",
    "--delay-at-most": "Longest wait of a call's or game's packets, like '20 ms'",
}
"""What is asked for in a dialogue where an option is missing."""

_LARGEST_FILE: Final = 10_000_000


def advise(
    *,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Bottleneck rate, like '50 Mbit/s'; behind a modem, 95 % of the line's. "
            "A range, like '5 Mbit/s .. 20 Mbit/s', of a line that varies.",
            show_default=False,
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="RANGE",
            help="Base round trips, like '10 ms .. 60 ms'.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        str | None,
        typer.Option(
            metavar="RANGE",
            help="Long transfers at a time, like '2 .. 40'.",
            show_default=False,
        ),
    ] = None,
    delay_at_most: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Longest wait of 95 % of a call's or game's packets.",
            show_default=False,
        ),
    ] = None,
    direction: Annotated[
        Literal["up", "down", "both"],
        typer.Option(help="Of a line that varies: packets that wait."),
    ] = "up",
    link_layer: Annotated[
        Literal["adsl", "vdsl", "cable", "ethernet", "cellular", "starlink", "wifi", "unknown"],
        typer.Option(help="Of a line that varies: what it is, for overheads."),
    ] = "unknown",
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Device: linux, sonic or cisco.")
    ] = "linux",
    interface: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Interface for the commands, like eth0 or, on SONiC, 'Ethernet4|1'.",
            show_default=False,
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Class of an existing shaper, like 1:10, or queue number on SONiC.",
            show_default=False,
        ),
    ] = None,
    interface_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Interface rate, at least --rate; if equal, no shaper is used.",
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str, typer.Option(metavar="NAME", help="Discipline to try, like fq_codel; or any.")
    ] = "any",
    now: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='Output of "tc -s -d qdisc show dev eth0", which undo restores '
            "(default: the device's default).",
            show_default=False,
        ),
    ] = None,
    now_json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File written by 'tc -s -d -j qdisc show dev eth0' or 'sonic-cfggen -d "
            "--print-data'.",
            show_default=False,
        ),
    ] = None,
    ecn: Annotated[
        str,
        typer.Option(metavar="off|on", help="True if senders use ECN."),
    ] = "off",
    harm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=MARGIN",
            help="Margin of harm, or none. Repeatable.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Simulate seconds instead of a minute.")
    ] = False,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Wall time for simulations (default: 57 s, with --quick 9 s).",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html", help="HTML page with answer and figure.", show_default=False
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show conditions, price, limits and all commands.")
    ] = False,
    target: options.Json = None,
    seed: options.Seed = 1,
    threads: options.Threads = None,
) -> int:
    """Advise on a queue: keep it, or what to set instead.

    You say how fast the line is, how far and how many the transfers are, and how long the packets
    of a call or game may wait. Vermilion simulates the queues that your device has over the whole
    range, and compares the best with what you have. The answer is: set this, keep what you have,
    packets wait elsewhere, or not judged. It has the commands to apply and undo. What is missing is
    asked for on a terminal. Nothing is changed on any device.
    """
    from vermilion import advise as room

    if rate is not None and ".." in rate:
        from vermilion.advise.varying import advise_varying

        _show_varying(advise_varying(rate, direction, interface, link_layer, delay_at_most), target)
        return 0
    from vermilion.advise.advice import FULL_S, QUICK_S
    from vermilion.advise.document import document

    if target == STANDARD_OUTPUT and report == STANDARD_OUTPUT:
        check_outputs(json=target, report=report)
    given = {"--rate": rate, "--rtt": rtt, "--flows": flows, "--delay-at-most": delay_at_most}
    known = _complete(given)
    question = room.read_question(
        rate=known["--rate"],
        rtt=known["--rtt"],
        flows=known["--flows"],
        delay_at_most=known["--delay-at-most"],
        device=device,
        interface=interface,
        parent=parent,
        interface_rate=interface_rate,
        discipline=discipline,
        ecn=ecn,
        seed=seed,
        quick=quick,
        harm=harm or (),
    )
    present = _present(question, now, now_json)
    usual = QUICK_S if quick else FULL_S
    deadline_s = usual if deadline is None else options.seconds("--deadline", deadline)
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        page = report and outputs.enter_context(output_file("--report", report))
        with ProgressBar("simulating", 1.0) as bar:
            advice = room.advise(
                question,
                present,
                threads=threads,
                progress=bar.callback,
                deadline_s=deadline_s,
            )
        if json_file:
            write_json(json_file, document(advice))
        if page:
            from vermilion.advise.page import advice_page

            page.write(advice_page(advice))
    if STANDARD_OUTPUT not in {target, report}:
        from vermilion.cli.advise_tables import print_advice

        print_advice(advice, everything=everything)
        if report:
            say(f"\nwrote {report}")
    if advice.interrupted:
        note("interrupted: this is the best result so far")
        return EXIT_INTERRUPTED
    return 0


def _show_varying(advice: "VaryingAdvice", target: str | None) -> None:
    if target is not None:
        save_json(target, advice)
    if target != STANDARD_OUTPUT:
        for line in advice.lines():
            say(line)


def _complete(given: dict[str, str | None]) -> dict[str, str]:
    """The options, those that are missing asked for if somebody is there to answer.

    Raises:
        UserError: nobody is.
    """
    from vermilion.advise.options import check_option
    from vermilion.scenario import ScenarioError

    missing = [option for option, value in given.items() if value is None]
    if missing and not (sys.stdin.isatty() and sys.stderr.isatty()):
        examples = {"--rate": "'50 Mbit/s'", "--rtt": "'10 ms .. 60 ms'", "--flows": "'2 .. 40'"}
        wanted = ", ".join(
            f"{option} {examples.get(option, chr(39) + '20 ms' + chr(39))}" for option in missing
        )
        plural = "are" if len(missing) > 1 else "is"
        message = f"{', '.join(missing)} {plural} missing; expected values like: {wanted}"
        raise UserError(message)
    known = {}
    for option, value in given.items():
        answer = value
        while answer is None:
            answer = str(typer.prompt(_QUESTIONS[option], err=True))
            try:
                check_option(option, answer)
            except ScenarioError as error:
                say(str(error), err=True)
                answer = None
        known[option] = answer
    return known


def _present(question: "Question", text: str | None, file: str | None) -> "Present":
    """Read the present queue from tc's output, if given.

    Raises:
        UserError: both are given, the file cannot be read, or the device has no tc.
        ScenarioError: it is not what tc shows.
    """
    from vermilion.advise import assumed

    if text is None and file is None:
        return assumed(question)
    if text is not None and file is not None:
        message = "--now and --now-json are both given; expected one"
        raise UserError(message)
    option = "--now" if file is None else "--now-json"
    if question.device == "cisco":
        message = (
            f"{option} needs a device with tc; expected --device linux, or sonic with its "
            "configuration"
        )
        raise UserError(message)
    if question.device == "sonic":
        from vermilion.advise.sonic import sonic_present

        return sonic_present(question, (text or "") if file is None else _read(file), option)
    from vermilion.advise.tc_json import read_tc_json
    from vermilion.advise.tc_present import present_of
    from vermilion.advise.tc_text import read_tc_text

    queues = read_tc_text(text or "") if file is None else read_tc_json(_read(file))
    return present_of(question, queues, option)


def _read(file: str) -> str:
    try:
        if file == STANDARD_OUTPUT:
            return sys.stdin.read(_LARGEST_FILE + 1)
        with Path(file).open(encoding="utf-8") as stream:
            return stream.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        expected = "the output of tc -j or sonic-cfggen"
        message = f'--now-json: "{file}" cannot be read ({reason}); expected {expected}'
        raise UserError(message) from None
