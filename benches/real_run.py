"""A controller on a real queue of this machine, in real time: what looking at it costs.

    python benches/real_run.py --mode observe --minutes 10 > docs/figures/real_run_observe.json
    python benches/real_run.py --mode control --minutes 10 > docs/figures/real_run_control.json
    python benches/real_run.py --mode sample --minutes 1.5 > docs/figures/real_run_sample.json

Network namespaces in a row, as `interface_monitor.py` has them: senders, a line that delays
acknowledgements, a router whose exit has a shaper (htb) with a `pfifo` below it, a receiver. In the
router `vermilion control linux:r1/1:10 --monitor` runs as an operator would start it. CPU
time is that of the process that looks, listens and decides (``/proc/PID/stat``), from 20 s after
its start on; searches run in another process, of which the time is told beside it. Prints one JSON
object, with what the controller said. ``--mode sample`` measures what of it is sampling: the same
reading of counters and listening, ten times a second, and nothing else. Nothing outside of the
namespaces is touched.

A kernel that has RED would do as well; this runs wherever `sch_htb` and `sch_fifo` are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from interface_monitor import INSIDE, LINE, RECEIVER, SENDERS, build, start

from vermilion.online.sense.sampler import SAMPLE_INTERVAL_S

SAMPLER: Final = "sampler"
INTERFACE: Final = "r1"
SETTLED_S: Final = 20.0
LOOK_S: Final = 1.0
POLICY: Final = """
rate = "{rate:g} Mbit/s"
delay = "5 ms"
[tuning]
parameters = ["limit"]
space = {{ limit = ["10 packets", "300 packets"] }}
objective = {{ name = "queue-deviation", target = "30 packets" }}
"""


def main() -> None:
    """Sets the network up, lets the controller run, and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mode", default="observe", choices=("sample", "observe", "control"))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--flows", type=int, default=16)
    parser.add_argument("--rate", type=float, default=10.0, help="of the bottleneck, Mbit/s")
    parser.add_argument("--limit", type=int, default=100, help="of the queue, packets")
    parser.add_argument("--round-trips", default="30", help="ms")
    parser.add_argument("--congestion", default="cubic", help="of the senders")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part == SAMPLER:
        sys.stdout.write(json.dumps(sample(60.0 * given.minutes)))
        return
    if INSIDE not in os.environ:
        unshare = shutil.which("unshare")
        if unshare is None:
            sys.exit("unshare of util-linux is not installed")
        script = 'mount -t tmpfs tmpfs /run && exec "$@"'
        user = [] if os.geteuid() == 0 else ["-r"]
        command = [unshare, *user, "-m", "-n", "sh", "-c", script, "sh", sys.executable, *sys.argv]
        environment = {**os.environ, INSIDE: "1"}
        raise SystemExit(subprocess.run(command, check=False, env=environment).returncode)
    sys.stdout.write(json.dumps(measure(given), indent=1) + "\n")


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Traffic, and the controller in the middle."""
    given.one_in, given.entrance, given.seconds = 1, False, 60.0 * given.minutes
    build(given.rate, 60_000, direct=False)
    exit_of_router = ("ip", "netns", "exec", "tr", "tc")
    for words in (
        "qdisc replace dev r1 root handle 1: htb default 10",
        f"class add dev r1 parent 1: classid 1:10 htb rate {given.rate}mbit burst 3028 cburst 3028",
        f"qdisc add dev r1 parent 1:10 handle 10: pfifo limit {given.limit}",
    ):
        subprocess.run([*exit_of_router, *words.split()], check=True)
    line, receiver = start("td", LINE, given), start("tb", RECEIVER, given)
    time.sleep(0.5)
    senders = start("ta", SENDERS, given, seconds=given.seconds + 60.0)
    try:
        if given.mode == "sample":
            return _sampled(given)
        with tempfile.TemporaryDirectory() as folder:
            return _controlled(given, Path(folder))
    finally:
        for each in (senders, receiver, line):
            each.kill()
            each.wait()


def sample(seconds: float) -> dict[str, Any]:
    """What the controller's driver does to look at a queue, and nothing else."""
    from vermilion.monitor import InterfaceWatch
    from vermilion.routers.linux import LinuxRouter
    from vermilion.routers.linux.router import PacketMonitor

    with InterfaceWatch(INTERFACE) as watch:
        router = LinuxRouter(f"linux:{INTERFACE}/1:10", monitor=PacketMonitor(watch))
        router.observe()
        time.sleep(SETTLED_S)
        router.observe()
        begun_s, begun_cpu_s = time.monotonic(), time.process_time()
        looks = round_trips = 0
        while (passed_s := time.monotonic() - begun_s) < seconds:
            looks += 1
            seen = router.observe()
            round_trips += 0 if seen.round_trips is None else len(seen.round_trips.flows)
            time.sleep(max(0.0, looks * SAMPLE_INTERVAL_S - passed_s))
        cpu_s = time.process_time() - begun_cpu_s
    return {
        "seconds": round(passed_s, 1),
        "looks": looks,
        "round_trips": round_trips,
        "sampling_cpu_s": round(cpu_s, 3),
        "sampling_share_of_a_core": cpu_s / passed_s,
    }


def _sampled(given: argparse.Namespace) -> dict[str, Any]:
    command = ["ip", "netns", "exec", "tr", sys.executable, __file__, "--part", SAMPLER]
    command += ["--minutes", str(given.minutes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return {"mode": given.mode, "flows": given.flows, "rate_mbit_per_s": given.rate, **told}


def _controlled(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(rate=given.rate), encoding="utf-8")
    command = ["ip", "netns", "exec", "tr", sys.executable, "-m", "vermilion", "online"]
    command += ["--router", "linux:r1/1:10", "--monitor", "--mode", given.mode]
    command += ["--policy", str(policy), "--for", f"{given.seconds:g} s"]
    command += ["--journal", str(folder / "journal.sqlite")]
    if given.mode == "control":
        command += ["--at-exit", "restore"]
    before = _queue()
    with (folder / "said").open("w+", encoding="utf-8") as said:
        program = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        begun_s = time.monotonic()
        looks: list[tuple[float, float, float]] = []
        while program.poll() is None:
            time.sleep(LOOK_S)
            times = _times(program.pid)
            if times is not None:
                looks.append((time.monotonic() - begun_s, *times))
        said.seek(0)
        text = said.read()
    first = next(each for each in looks if each[0] >= SETTLED_S)
    # The process is at its end at the last look: its searches' process has been waited for.
    last = looks[-1]
    seconds = last[0] - first[0]
    after = _queue()
    return {
        "mode": given.mode,
        "flows": given.flows,
        "congestion": given.congestion,
        "rate_mbit_per_s": given.rate,
        "seconds": round(seconds, 1),
        "looking_cpu_s": round(last[1] - first[1], 2),
        "looking_share_of_a_core": (last[1] - first[1]) / seconds,
        "searching_cpu_s": round(last[2], 2),
        "forwarded_mbit_per_s": 8e-6 * (after["bytes"] - before["bytes"]) / last[0],
        "drops": after["drops"] - before["drops"],
        "limit_before": before["options"]["limit"],
        "limit_after": after["options"]["limit"],
        "exit_code": program.returncode,
        "said": [line for line in text.splitlines() if not line.startswith("journal:")],
    }


def _times(process: int) -> tuple[float, float] | None:
    """CPU time of a process, and of those below it now and before; seconds."""
    tick = os.sysconf("SC_CLK_TCK")
    fields = _stat(process)
    if fields is None:
        return None
    own = (int(fields[11]) + int(fields[12])) / tick
    below = (int(fields[13]) + int(fields[14])) / tick
    for each in Path("/proc").glob("[0-9]*"):
        other = _stat(int(each.name))
        if other is not None and int(other[1]) == process:
            below += sum(int(other[place]) for place in (11, 12, 13, 14)) / tick
    return own, below


def _stat(process: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` behind the name."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _queue() -> dict[str, Any]:
    """What tc says of the queue."""
    command = ["ip", "netns", "exec", "tr", "tc", "-s", "-d", "-j", "qdisc", "show", "dev", "r1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    [found] = [each for each in json.loads(done.stdout) if each["kind"] == "pfifo"]
    told: dict[str, Any] = found
    return told


if __name__ == "__main__":
    main()
