"""Episodes as blocks of a campaign, each of them one: whole jobs in processes of their own (docs/episodes.md).

Two runs of an episode need not be alike, so a campaign of episodes differs from others in three ways. A failure is kept
as soon as it is there, with the folder of its job as evidence:

    DIR/evidence/NUMBER/episode-NUMBER/     the job, its recovery data, output and logs, `episode.json`, `block.json`

by the number of the implementation in the plan and that of the episode. If its wave was not committed when the driver
was killed, `block.json` is the result of the block: what was seen once may never be seen again. A failure is run again
five times before it is reduced, level by level. And once that is done nothing runs it any more: neither to confirm it,
nor to group it, nor for a report.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from msgspec.structs import replace

from conformance.campaigns.block import BlockResult, encode_tally, joined
from conformance.campaigns.files import evidence_of, own
from conformance.campaigns.names import Names
from conformance.campaigns.outcomes import FindingRecord, record_of
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.seconds import Watch
from conformance.driver import Program
from conformance.engines.check import Found
from conformance.engines.tally import Counter, Failure, Signature
from conformance.episodes import COMPONENT, RESTORES
from conformance.episodes.drawing import Episode
from conformance.episodes.running import SLOW, STUCK, VOCABULARY, Episodes, Result, verdict
from conformance.models.words import many
from conformance.ports import Implementation, UnusableImplementation
from conformance.ports.episodes import EpisodesImplementation
from conformance.scenarios import Finding, Scenario, canonical
from conformance.scenarios.reading import Misshapen, Unreadable, decode_json, read_bytes
from conformance.system.writing import rename_folder, write_text

KEPT = "block.json"
"""The result of the block, in the folder with its evidence."""
OPERATION = "run"
"""The operation of each signature: at which one a failure shows depends on the time."""
_TWICE = "also when it was run twice again"
_MOST_BYTES = 16 << 20


def cores_of(name: str, names: Names) -> int:
    """Return how many cores an episode takes. Raises: UnusableImplementation if the adapter does not say what it is."""
    with closing(names.here.find(name)) as implementation:
        return _episodes(implementation).describe().cores


def check_adapter(name: str, names: Names) -> None:
    """Run a job without any failure. Raises: UnusableImplementation if it does not pass."""
    with closing(names.here.find(name)) as implementation:
        Episodes(_episodes(implementation)).check()


def run_episodes(
    plan: Plan, block: Block, found: Mapping[str, Program], numbers: Iterable[int], watch: Watch
) -> BlockResult:
    """Run the episodes of a block that have these numbers, each drawn from the description of each implementation.

    Raises: UnusableImplementation if an adapter is wrong; NotWritten.
    """
    parts = []
    for number in numbers:
        for name, program in found.items():
            watch.begin()
            place = evidence_of(Path(block.home), plan, name, number) if block.home else None
            result = None if place is None else _kept(place, plan, block)
            parts.append(result or _run(plan, block, name, program, number, place))
            watch.lap(name)
    return joined(plan, block, parts, VOCABULARY)


def _kept(place: Path, plan: Plan, block: Block) -> BlockResult | None:
    """Return the result of a block that was run before, and has failed."""
    try:
        result = decode_json(read_bytes(place / KEPT, _MOST_BYTES), BlockResult)
    except (OSError, Misshapen, Unreadable):
        return None
    return result if (result.plan, result.block) == (plan.digest, _bare(block)) else None


def _run(plan: Plan, block: Block, name: str, program: Program, number: int, place: Path | None) -> BlockResult:
    of = Episodes(_episodes(program.implementation))
    episode = of.episode(plan.seed, number)
    made = None
    if place is not None:
        own(place.parent.parent, place.parent.name)
        made = place.parent / f".{place.name}-{secrets.token_hex(4)}"
    first = of.run(episode, made)
    failure = _failure(of, episode, first, number)
    assert first.run is not None
    counter = Counter(program)
    counter.add(_scenario(episode), first.run, number)
    tally = counter.tally()
    tally.failures = {} if failure is None else dict([failure])
    if first.restores:  # the rules see what the last life says, and nothing of a run that has failed before
        tally.exercised = dict(sorted({**tally.exercised, RESTORES: 1}.items()))
    tally.happened = {words: count for words, count in first.happened.items() if count}
    if first.stuck and failure is None:
        tally.happened[SLOW] = 1
    result = BlockResult(plan.digest, _bare(block), {name: encode_tally(tally)})
    if made is not None and place is not None and made.exists():
        try:
            if failure is not None:
                write_text(made / KEPT, canonical(result))
                shutil.rmtree(place, ignore_errors=True)  # of a block that different code ran
                with suppress(FileExistsError):  # another task has run the same block
                    rename_folder(made, place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return result


def _failure(of: Episodes, episode: Episode, first: Result, number: int) -> tuple[Signature, Failure] | None:
    """Return how an episode has failed. Without progress, it has only if that happens twice again."""
    scenario = _scenario(episode)
    if first.slug:
        failed = Failure(scenario, first.owed, first.observed, first=number)
        return (first.slug, first.failure_class, OPERATION), failed
    if first.stuck and of.often(episode, STUCK) == (2, 2):
        return (*STUCK, OPERATION), Failure(scenario, first.owed, f"{first.observed}, {_TWICE}", first=number)
    return None


def looked_at(
    plan: Plan, name: str, implementation: Implementation, signature: Signature, failure: Failure, budget: int
) -> FindingRecord:
    """Return the finding that the failure of an episode is: run again, and reduced if it has failed again.

    What was observed ends with how often. `budget`: how many runs the reduction may take. Raises: as `run_episodes`.
    """
    of, kind = Episodes(_episodes(implementation)), signature[:2]
    scenario, owed, observed = failure.scenario, failure.owed, failure.observed
    episode = Episode(scenario.config, scenario.steps)
    again, runs = of.often(episode, kind)
    words, complete = [verdict(again, runs)], True
    if again and kind != STUCK:
        smaller = of.reduced(episode, kind, budget)
        episode, complete = smaller.episode, smaller.complete
        owed, observed = smaller.owed or owed, smaller.observed or observed
        words.append(f"reduced in {many(smaller.runs, 'run')}, fails {smaller.fails} of {smaller.tries}")
    shown = replace(_scenario(episode), finding=Finding(signature[0], signature[1], name))
    found = Found(signature, owed, f"{observed} ({'; '.join(words)})", shown, failure.count, failure.first)
    return record_of(plan, name, failure, found, None if complete else budget)


def _scenario(episode: Episode) -> Scenario:
    return Scenario(COMPONENT.name, episode.config, episode.steps)


def _bare(block: Block) -> Block:
    return replace(block, home="")


def _episodes(implementation: Implementation) -> EpisodesImplementation:
    if not isinstance(implementation, EpisodesImplementation):
        raise UnusableImplementation(f"{implementation.name} has no episodes.")
    return implementation
