"""`conformance replay` and `conformance shrink`: run and reduce one scenario."""

from __future__ import annotations

import shlex
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import click
from msgspec import Meta, Struct, to_builtins

from conformance import reporting
from conformance.cli.destinations import TO_KEPT_FILE
from conformance.cli.guarding import followed, guarded
from conformance.cli.options import (
    assume_option,
    capabilities_of,
    implementation_of,
    in_process_option,
    json_option,
    memory_option,
    notes,
    offered_of,
    out,
    step_seconds_option,
)
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import replay
from conformance.engines.apart import find
from conformance.engines.reduce import BUDGET, Reduction
from conformance.engines.replay import ReplayVerdict, read_scenario
from conformance.ports import Limits, find_implementation
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, VIOLATION
from conformance.scenarios import Finding, Scenario, SchemaError, encode_scenario, scenario_id
from conformance.scenarios.reading import decode_json, read_bytes


def _read(path: Path) -> Scenario:
    """Return the scenario in a file. Raises: SchemaError, which says so if it is a kept episode; OSError."""
    try:
        return read_scenario(path)
    except SchemaError as error:
        if not _is_episode(path):
            raise
        raise SchemaError(
            f"{path} is an episode, whose engine has an adapter. Run it again with:\n"
            f"conformance episodes ADAPTER --again {shlex.quote(str(path))}"
        ) from error


def _is_episode(path: Path) -> bool:
    from conformance.episodes.running import read_episode  # only a wrong file loads what judges episodes

    with suppress(SchemaError, OSError):
        read_episode(path)
        return True
    return False


@click.command(name="replay", short_help="Run a scenario again: FAILED, FIXED or NOT APPLICABLE.")
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option(
    "--implementation",
    "name",
    metavar="NAME",
    help="What to run it on.  [default: the one that the file names, if it is built in, or reference]",
)
@assume_option
@step_seconds_option
@memory_option
@in_process_option
@json_option
def replay_command(
    path: Path, name: str | None, assume: tuple[str, ...], step_seconds: float, memory: int, in_process: bool,
    json_path: Path | None,
) -> int:  # fmt: skip
    """Run a scenario again: FAILED (1), FIXED (0) or NOT APPLICABLE (3)."""
    scenario = _read(path)
    limits = Limits(step_seconds, memory)
    implementation = find(implementation_of(scenario, name, path), limits, in_process=in_process)
    with closing(implementation):
        result = replay(scenario, implementation, capabilities_of(assume))
    story = reporting.tell(result)
    out.print(story.table())
    if story.in_the_drain is not None:
        out.print(story.in_the_drain, soft_wrap=True)
    verdict = f"{result.verdict.value} on {implementation.name}: {result.reason}"
    out.print(verdict, soft_wrap=not out.is_terminal)
    if json_path is not None:
        reporting.write_json(json_path, reporting.replay_document(result))
    return {ReplayVerdict.FAILED: VIOLATION, ReplayVerdict.FIXED: CONFORMS}.get(result.verdict, INCONCLUSIVE)


@click.command()
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option(
    "--implementation",
    "name",
    metavar="NAME",
    help="What it fails on.  [default: the one that the file names, if it is built in, or reference]",
)
@click.option(
    "-o", "--output", type=TO_KEPT_FILE,
    help="Do not print the scenario: write it to this file, each time a simpler one is found.",
)  # fmt: skip
@click.option("--budget", type=click.IntRange(1), default=BUDGET, show_default=True, help="The maximum number of runs.")
@step_seconds_option
@memory_option
@in_process_option
def shrink(
    path: Path, name: str | None, output: Path | None, budget: int, step_seconds: float, memory: int, in_process: bool
) -> int:
    """Make a failing scenario as short and simple as possible.

    To continue a reduction that its budget or Ctrl-C ended, run: conformance shrink FILE -o FILE.
    """
    scenario = _read(path)
    limits, named = Limits(step_seconds, memory), implementation_of(scenario, name, path)
    if not in_process and (status := guarded(named, limits)) is not None:
        return status
    implementation = find_implementation(named)
    implementation.limit(limits)
    offered_of(implementation, (scenario.component,))
    with closing(implementation):
        program = followed(Program(COMPONENTS[scenario.component], implementation))
        try:
            reduction = Reduction(program, scenario, *_before(path, scenario))
            better = _Keeper(output, _finding(scenario, reduction, named), reduction)
            reduction.better = better.keep
            try:
                reduction.go_on(budget - reduction.spent)
            finally:
                better.remember()
            reduced = reduction.result()
        except ValueError as error:
            raise click.UsageError(f"{path} on {implementation.name}: {error}") from None
    short = better.named(reduced.scenario)
    notes.print(
        f"{len(scenario.steps)} steps became {len(short.steps)}, in {reduced.runs} runs: {reduced.signature[0]}"
        + ("" if reduced.finished else "; not finished")
    )
    if output is None:
        out.print_lines(encode_scenario(short).removesuffix("\n"))
    else:
        reporting.write_text(output, encode_scenario(short))
    return VIOLATION


def _finding(scenario: Scenario, reduction: Reduction, implementation: str) -> Finding | None:
    """Return what the scenario shows now, which need not be what the file says; None if the file says nothing."""
    said = scenario.finding
    if said is None:
        return None
    slug, failure_class, _ = reduction.signature
    same = (said.property, said.failure_class) == (slug, failure_class)
    return Finding(slug, failure_class, implementation, said.ticket if same else "")


class _Progress(Struct, frozen=True):
    """The content of the file beside a scenario that is being reduced."""

    scenario: str
    """Its content hash."""
    drawn: Annotated[int, Meta(ge=0)]
    """How many fresh scenarios were drawn."""
    vain: Annotated[int, Meta(ge=0)]
    """How many of the last ones failed alike and were not simpler."""


class _Keeper:
    """Writes the best scenario to its file, and the progress of the reduction to a file beside it."""

    def __init__(self, output: Path | None, finding: Finding | None, reduction: Reduction) -> None:
        self._output = output
        self._finding = finding
        self._reduction = reduction

    def named(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the finding."""
        return Scenario(scenario.component, scenario.config, scenario.steps, self._finding)

    def keep(self, scenario: Scenario) -> None:
        """Write `scenario`, which is simpler than those before."""
        if self._output is not None:
            reporting.write_text(self._output, encode_scenario(self.named(scenario)))

    def remember(self) -> None:
        """Write how far the last stage is, or remove that file if the reduction is finished."""
        if self._output is None:
            return
        beside = _beside(self._output)
        if self._reduction.finished:
            beside.unlink(missing_ok=True)
        else:
            self.keep(self._reduction.best)
            beside.unlink(missing_ok=True)  # it may be a link, whose author can let it lead anywhere
            best, drawn, vain = self._reduction.best, self._reduction.drawn, self._reduction.vain
            reporting.write_json(beside, to_builtins(_Progress(scenario_id(self.named(best)), drawn, vain)))


def _before(path: Path, scenario: Scenario) -> tuple[int, int]:
    """Return how many fresh scenarios an earlier reduction of this scenario has drawn, and how many of the last ones
    failed alike and were not simpler."""
    try:
        progress = decode_json(read_bytes(_beside(path)), _Progress)
    except (OSError, ValueError):
        return 0, 0
    return (progress.drawn, progress.vain) if progress.scenario == scenario_id(scenario) else (0, 0)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.reduction")
