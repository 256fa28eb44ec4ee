"""The command line. Every command reads or makes data; what is printed is for people, what `--json` writes is stable.

Exit status: 0 conforms, 1 a violation was found, 2 the call or a file was wrong, 3 inconclusive; 2 beats 1 beats 3
beats 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from conformance import __version__, campaigns, reporting
from conformance.alphabets import ALPHABETS, alphabet_of, vocabulary
from conformance.alphabets.program import Program
from conformance.engines import (
    Check,
    Standing,
    check_with_hypothesis,
    load_known_failures,
    reduce,
    replay,
    standing,
)
from conformance.engines import check as check_at_random
from conformance.engines.digest import CannotRecognise
from conformance.engines.explore import MOST_STATES, Explorer, ScopeError, scope_of
from conformance.engines.kill import MOST_SCENARIOS, kill
from conformance.engines.optimum import optimal_steps
from conformance.engines.replay import ReplayVerdict
from conformance.ports import (
    Capability,
    Implementation,
    UnusableImplementation,
    find_implementation,
    find_known_bug,
    known_bugs,
    offered_components,
    registered_names,
)
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, USAGE, VIOLATION, status_of, worst
from conformance.scenarios import Scenario, SchemaError, decode_scenario, encode_scenario

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""
RUNNERS = ["auto", "inline", "processes", "spark"]

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: every foreseeable trouble is one paragraph and exit status 2."""
    try:
        status = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted; nothing half-written was left behind")
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except campaigns.CampaignInterrupted as error:
        _say(str(error))
        sys.exit(INTERRUPTED)
    except (UnusableImplementation, SchemaError, campaigns.CampaignError) as error:
        _say(str(error))
        sys.exit(USAGE)
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}")
        sys.exit(USAGE)
    sys.exit(status or CONFORMS)


def _say(trouble: str) -> None:
    """Not wrapped: a path in it can be copied."""
    notes.print(f"conformance: {trouble}", markup=False, soft_wrap=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="conformance")
def cli() -> None:
    """Hold stream processors to what checkpointing and recovery must do."""


implementation_option = click.option(
    "--implementation", "implementations", metavar="NAME", multiple=True, default=("reference",), show_default=True,
    help="A registered name, NAME@VERSION, module:object, jsonl:COMMAND or known-bug:ID. May be given more than once.",
)  # fmt: skip
component_option = click.option(
    "--component",
    "components",
    metavar="COMPONENT",
    multiple=True,
    help="One component only. May be given more than once.",
)
json_option = click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the result as JSON.")
assume_option = click.option(
    "--assume", metavar="CAPABILITY", multiple=True,
    help="Hold implementations to what needs this capability although they do not claim it.",
)  # fmt: skip
known_option = click.option(
    "--known-failures", "known_path", metavar="FILE", type=click.Path(path_type=Path),
    help="Failures that are known (TOML). A new one counts, and so does one that stopped failing.",
)  # fmt: skip
seed_option = click.option(
    "--seed", default="0", show_default=True, metavar="TEXT", help="Another text, other scenarios."
)


@cli.command()
@implementation_option
@component_option
@click.option(
    "--scenarios", type=click.IntRange(1), default=2000, show_default=True, help="Per implementation and component."
)
@seed_option
@click.option("--engine", type=click.Choice(["random", "hypothesis"]), default="random", show_default=True)
@assume_option
@known_option
@click.option(
    "--bug-reports",
    "report_folder",
    type=click.Path(path_type=Path),
    help="Write a bug report folder per violation here.",
)
@json_option
def check(
    implementations: tuple[str, ...], components: tuple[str, ...], scenarios: int, seed: str, engine: str,
    assume: tuple[str, ...], known_path: Path | None, report_folder: Path | None, json_path: Path | None,
) -> int:  # fmt: skip
    """Search for violations, and say of every property what became of it."""
    assumed = _capabilities(assume)
    _known_components(components)
    entries = load_known_failures(known_path) if known_path is not None else ()
    chosen = [(name, find_implementation(name)) for name in implementations]
    offered = [_offered(implementation, components) for _, implementation in chosen]
    run = check_with_hypothesis if engine == "hypothesis" else check_at_random
    results: list[tuple[Implementation, list[Check]]] = []
    standings: list[tuple[Implementation, Standing]] = []
    statuses: list[int] = []
    for (name, implementation), mine in zip(chosen, offered, strict=True):
        checks = []
        bar = reporting.progress_bar(notes, implementation.name, scenarios * len(mine))
        with closing(implementation), bar as advance:
            for index, component in enumerate(mine):
                program = Program(alphabet_of(component), implementation, assumed)
                checks.append(run(program, scenarios, seed, partial(advance, index * scenarios)))
            now = standing(entries, name, implementation, mine, assumed)
            if report_folder is not None:
                for found in (one for checked in checks for one in checked.found):
                    reporting.report_violation(report_folder, name, found, implementation, assumed)
        results.append((implementation, checks))
        statuses += [status_of(checked.found, now) for checked in checks]
        statuses += [INCONCLUSIVE for checked in checks if checked.idle]
        statuses += [VIOLATION for _ in now.fixed]
        standings.append((implementation, now))
    for table in reporting.verdict_tables([one for _, checks in results for one in checks]):
        out.print(table)
    for line in reporting.summary_lines([one for _, checks in results for one in checks]):
        out.print(line)
    for implementation, now in standings:
        reporting.print_standing(out, f"{implementation.name} {implementation.version}".rstrip(), now)
    if report_folder is not None:
        out.print(f"Reports: {report_folder}", soft_wrap=True)
    if json_path is not None:
        reporting.write_json(json_path, reporting.check_document(seed, scenarios, results))
    return worst(statuses)


@cli.command()
@click.option("--component", required=True, metavar="COMPONENT")
@click.option(
    "--scope", metavar="KEY=VALUE", multiple=True, help="How much there is to explore. Repeat for other keys."
)
@click.option("--depth", type=click.IntRange(1), help="So many steps at most.")
@click.option("--max-states", type=click.IntRange(1), default=MOST_STATES, show_default=True)
@click.option("--implementation", "name", default="reference", show_default=True)
@json_option
def explore(
    component: str, scope: tuple[str, ...], depth: int | None, max_states: int, name: str, json_path: Path | None
) -> int:
    """Judge every run within a small scope, breadth first; the first violation of a kind is a shortest one."""
    _known_components((component,))
    if bad := [one for one in scope if "=" not in one]:
        raise click.UsageError(f"--scope takes KEY=VALUE, found {bad[0]!r}")
    implementation = find_implementation(name)
    _offered(implementation, (component,))
    with closing(implementation), reporting.progress_bar(notes, f"{component}, states", None) as advance:
        program = Program(alphabet_of(component), implementation)
        try:
            explorer = Explorer(program, scope_of(program.alphabet, dict(one.split("=", 1) for one in scope)))
        except (ScopeError, CannotRecognise) as error:
            raise click.UsageError(str(error)) from None
        result = explorer.explore(depth, max_states, lambda level, states, transitions: advance(states, 0))
    out.print(reporting.exploration_table(result))
    for line in reporting.exploration_lines(result):
        out.print(line, markup=False, soft_wrap=True)
    if json_path is not None:
        reporting.write_json(json_path, reporting.exploration_document(result))
    return VIOLATION if result.found else CONFORMS if result.complete else INCONCLUSIVE


@cli.command(name="replay")
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option("--implementation", "name", metavar="NAME", help="On whom.  [default: the one in the file, or reference]")
@assume_option
@json_option
def replay_command(path: Path, name: str | None, assume: tuple[str, ...], json_path: Path | None) -> int:
    """Run a scenario again: FAILED (1), FIXED (0) or NOT APPLICABLE (3)."""
    scenario = _read(path)
    implementation = find_implementation(name or _implementation_of(scenario))
    with closing(implementation):
        result = replay(scenario, implementation, _capabilities(assume))
    out.print(reporting.story_table(result))
    out.print(f"{result.verdict.value} on {implementation.name}: {result.reason}", soft_wrap=True, markup=False)
    if json_path is not None:
        reporting.write_json(json_path, reporting.replay_document(result))
    return {ReplayVerdict.FAILED: VIOLATION, ReplayVerdict.FIXED: CONFORMS}.get(result.verdict, INCONCLUSIVE)


@cli.command()
@click.argument("path", metavar="SCENARIO.json", type=click.Path(path_type=Path))
@click.option(
    "--implementation", "name", metavar="NAME", help="On whom it fails.  [default: the one in the file, or reference]"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of printing.")
def shrink(path: Path, name: str | None, output: Path | None) -> int:
    """Make a failing scenario as short as possible."""
    scenario = _read(path)
    implementation = find_implementation(name or _implementation_of(scenario))
    _offered(implementation, (scenario.component,))
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


@cli.command()
@click.argument("names", metavar="[BUG]...", nargs=-1)
@component_option
@seed_option
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Repeat with so many seeds; the median counts.",
)
@click.option(
    "--scenarios",
    type=click.IntRange(1),
    default=MOST_SCENARIOS,
    show_default=True,
    help="After so many a bug has survived.",
)
@click.option("--optimal", is_flag=True, help="Explore too: how short can a scenario be that shows the bug?")
@json_option
def bugs(
    names: tuple[str, ...], components: tuple[str, ...], seed: str, seeds: int, scenarios: int, optimal: bool,
    json_path: Path | None,
) -> int:  # fmt: skip
    """The kill matrix: every known bug, found or survived, by the property that must notice it."""
    _known_components(components)
    chosen = [find_known_bug(name) for name in names] or known_bugs()
    chosen = [bug for bug in chosen if not components or bug.component in components]
    if not chosen:
        raise click.UsageError("there is no known bug of these components")
    rows = []
    with reporting.progress_bar(notes, "known bugs", len(chosen) * seeds) as advance:
        for index, bug in enumerate(chosen):
            kills = []
            for number in range(seeds):
                kills.append(kill(bug, seed if seeds == 1 else f"{seed}.{number}", scenarios))
                advance(index * seeds, number + 1)
            rows.append(reporting.bug_row(kills, optimal_steps(bug) if optimal else None))
    out.print(reporting.kill_matrix(rows))
    unguarded = reporting.unguarded_properties(chosen) if not names and not components else []
    for slug in unguarded:
        out.print(f"No known bug is killed by {slug}.", markup=False)
    if json_path is not None:
        reporting.write_json(json_path, reporting.bugs_document(rows))
    return VIOLATION if unguarded or not all(row.killed for row in rows) else CONFORMS


@cli.command()
@component_option
@json_option
def properties(components: tuple[str, ...], json_path: Path | None) -> int:
    """The catalogue of properties."""
    _known_components(components)
    for table in reporting.property_tables(components or tuple(ALPHABETS)):
        out.print(table)
    if json_path is not None:
        reporting.write_json(json_path, reporting.properties_document(components or tuple(ALPHABETS)))
    return CONFORMS


@cli.command()
@json_option
def implementations(json_path: Path | None) -> int:
    """The registered implementations; one that cannot be used here says why."""
    rows = []
    for name in registered_names():
        try:
            implementation = find_implementation(name)
            with closing(implementation):
                rows.append(reporting.implementation_row(name, implementation))
        except UnusableImplementation as error:
            rows.append(reporting.unusable_row(name, str(error)))
    out.print(reporting.implementation_table(rows))
    if json_path is not None:
        reporting.write_json(json_path, reporting.implementations_document(rows))
    return CONFORMS


@cli.group()
def campaign() -> None:
    """Long searches, on one machine or a cluster."""


@campaign.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@implementation_option
@component_option
@click.option("--scenarios", type=click.IntRange(1), help="Per component.  [default: 20000]")
@click.option("--steps", type=click.IntRange(1), help="Until so many steps were executed.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Begin nothing new after so many minutes.")
@click.option("--runner", type=click.Choice(RUNNERS), default="auto", show_default=True)
@click.option("--master", metavar="URL", help="The Spark master.  [default: this machine]")
@seed_option
@assume_option
@known_option
def start(
    folder: Path,
    implementations: tuple[str, ...],
    components: tuple[str, ...],
    scenarios: int | None,
    steps: int | None,
    minutes: float | None,
    runner: str,
    master: str | None,
    seed: str,
    assume: tuple[str, ...],
    known_path: Path | None,
) -> int:
    """Run the same scenarios on all implementations; the first one draws them, the others are compared with it.

    A known bug among them is the canary: it has to be found, and does not count as a violation then.
    """
    _known_components(components)
    entries = load_known_failures(known_path) if known_path is not None else ()
    if sum(goal is not None for goal in (scenarios, steps, minutes)) > 1:
        raise click.UsageError("--scenarios, --steps and --minutes exclude each other")
    if master is not None and runner not in ("auto", "spark"):
        raise click.UsageError(f"--master goes with --runner spark, not with {runner}")
    chosen, note = campaigns.choose(runner, master)
    if note is not None:
        notes.print(note, markup=False)
    plan = campaigns.make_plan(
        seed,
        implementations,
        components,
        scenarios=scenarios if steps or minutes else scenarios or 20_000,
        steps=steps,
        minutes=minutes,
        assume=sorted(_capabilities(assume)),
    )
    with reporting.progress_bar(notes, "blocks", plan.number_of_blocks) as advance:

        def watch(state: campaigns.Advance) -> None:
            advance(state.done, 0)
            if state.note:
                _say(state.note)

        result = campaigns.start(folder, plan, chosen, watch)
    status = reporting.conclude_campaign(out, result, folder / "report", entries)
    out.print(f"Result: {folder / 'result.json'}", soft_wrap=True, markup=False)
    return status


@campaign.command(name="report")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="FOLDER", type=click.Path(path_type=Path), help="[default: DIR/report]")
@known_option
def campaign_report(folder: Path, output: Path | None, known_path: Path | None) -> int:
    """Print the verdicts of a campaign and write a bug report folder per violation."""
    result = campaigns.load(folder)
    return reporting.conclude_campaign(
        out, result, output or folder / "report", load_known_failures(known_path) if known_path else ()
    )


# ---- shared by the commands ------------------------------------------------------------------------------------------
def _offered(implementation: Implementation, components: tuple[str, ...]) -> list[str]:
    """The components to look at, of those that the implementation offers."""
    offered = [component for component in ALPHABETS if component in offered_components(implementation)]
    missing = [component for component in components if component not in offered]
    if missing or not offered:
        raise click.UsageError(
            f"{implementation.name} does not offer {', '.join(missing) or 'any component'}; "
            f"it offers {', '.join(offered) or 'none that this suite knows'}"
        )
    return [component for component in offered if not components or component in components]


def _known_components(components: tuple[str, ...]) -> None:
    for component in components:
        try:
            alphabet_of(component)
        except KeyError as error:
            raise click.UsageError(error.args[0]) from None


def _capabilities(names: tuple[str, ...]) -> frozenset[Capability]:
    known = {capability.value: capability for capability in Capability}
    for name in names:
        if name not in known:
            raise click.UsageError(f"there is no capability {name!r}; there are {', '.join(known)}")
    return frozenset(known[name] for name in names)


def _read(path: Path) -> Scenario:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: this is not a text file in UTF-8, so it is no scenario") from None
    return decode_scenario(text, vocabulary, str(path))


def _implementation_of(scenario: Scenario) -> str:
    finding = scenario.finding
    return finding.implementation if finding is not None and finding.implementation else "reference"
