"""`conformance replay` and `conformance shrink`: one scenario."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from conformance import reporting
from conformance.alphabets import alphabet_of
from conformance.alphabets.program import Program
from conformance.cli.options import (
    assume_option,
    capabilities_of,
    implementation_of,
    json_option,
    notes,
    offered_of,
    out,
    read_scenario,
)
from conformance.engines import reduce, replay
from conformance.engines.replay import ReplayVerdict
from conformance.ports import (
    find_implementation,
)
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, VIOLATION
from conformance.scenarios import Scenario, encode_scenario


@click.command(name="replay")
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option("--implementation", "name", metavar="NAME", help="On whom.  [default: the one in the file, or reference]")
@assume_option
@json_option
def replay_command(path: Path, name: str | None, assume: tuple[str, ...], json_path: Path | None) -> int:
    """Run a scenario again: FAILED (1), FIXED (0) or NOT APPLICABLE (3)."""
    scenario = read_scenario(path)
    implementation = find_implementation(name or implementation_of(scenario))
    with closing(implementation):
        result = replay(scenario, implementation, capabilities_of(assume))
    out.print(reporting.story_table(result))
    out.print(f"{result.verdict.value} on {implementation.name}: {result.reason}", soft_wrap=True, markup=False)
    if json_path is not None:
        reporting.write_json(json_path, reporting.replay_document(result))
    return {ReplayVerdict.FAILED: VIOLATION, ReplayVerdict.FIXED: CONFORMS}.get(result.verdict, INCONCLUSIVE)


@click.command()
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option(
    "--implementation", "name", metavar="NAME", help="On whom it fails.  [default: the one in the file, or reference]"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of printing.")
def shrink(path: Path, name: str | None, output: Path | None) -> int:
    """Make a failing scenario as short as possible."""
    scenario = read_scenario(path)
    implementation = find_implementation(name or implementation_of(scenario))
    offered_of(implementation, (scenario.component,))
    with closing(implementation):
        program = Program(alphabet_of(scenario.component), implementation)
        try:
            reduced = reduce(program, scenario)
        except ValueError as error:
            raise click.UsageError(f"{path} on {implementation.name}: {error}") from None
    short = Scenario(scenario.component, reduced.scenario.config, reduced.scenario.steps, scenario.finding)
    notes.print(
        f"{len(scenario.steps)} steps became {len(short.steps)}, in {reduced.runs} runs: {reduced.signature[0]}"
    )
    if output is None:
        out.print(encode_scenario(short), end="", markup=False, soft_wrap=True)
    else:
        reporting.write_text(output, encode_scenario(short))
    return VIOLATION
