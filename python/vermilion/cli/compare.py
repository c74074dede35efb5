"""``vermilion compare``: disciplines and settings side by side, over many seeds."""

import json
from typing import Annotated

import typer

from vermilion.cli import options
from vermilion.cli.output import STANDARD_OUTPUT, note, output_file
from vermilion.cli.progress import ProgressBar


def compare(
    scenario: options.ScenarioName,
    *,
    disciplines: Annotated[
        list[str] | None,
        typer.Option(
            "--discipline",
            metavar="NAME",
            help="A queue discipline to compare; repeat it for each. Parameters that the "
            "scenario sets are carried over where the discipline has them too.",
            show_default=False,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a value. The same path given several times makes a variant of each "
            "of its values; a path given once is set in all variants.",
            show_default=False,
        ),
    ] = None,
    seeds: options.Seeds = 10,
    first_seed: options.FirstSeed = 1,
    threads: options.Threads = None,
    target: options.Json = None,
) -> None:
    """Compare disciplines and settings over many seeds.

    Shows means over the same seeds with 95 % t intervals.

    The first variant is the reference. Where a variant differs from it significantly (the
    95 % interval of the differences, seed by seed, excludes zero), its figure has a star.
    """
    from vermilion.cli.variants import make_variants, objective_measure
    from vermilion.simulate import comparison

    variants, reports = make_variants(scenario, disciplines or [], overrides or [])
    for report in reports:
        note(report)
    chosen = range(first_seed, first_seed + seeds)
    with output_file("--json", target or STANDARD_OUTPUT) as file:
        with ProgressBar("simulating", len(variants) * seeds) as bar:
            outcome = comparison.compare(
                variants,
                chosen,
                measures=objective_measure(variants),
                threads=threads,
                progress=bar.callback,
            )
        if target is not None:
            document = {**outcome.to_dict(), "notes": reports}
            file.write(f"{json.dumps(document, indent=2, allow_nan=False)}\n")
    if target != STANDARD_OUTPUT:
        from vermilion.cli.compare_tables import print_comparison

        print_comparison(outcome)
