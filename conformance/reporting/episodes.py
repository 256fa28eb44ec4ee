"""Shows what episodes have come to: as lines for a screen, and as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from conformance.ports.episodes import Description
from conformance.reporting.markdown import cell
from conformance.system.text import neutral_line

if TYPE_CHECKING:  # its component is imported only by the command that needs it
    from conformance.episodes import EpisodeConfig
    from conformance.episodes.running import Failure, Kind, Result, Tally

Row = tuple[str, str]
_WIDTH = 80


def summary(tally: Tally) -> list[Row]:
    """Returns what was run, as pairs of words and figures."""
    from conformance.episodes.running import IMAGES, IN_VAIN, LIVES, RESTORED, SLOW

    many = max(1, tally.episodes)
    rows = [
        ("episodes", f"{tally.episodes:,}"),
        (LIVES, f"{tally.lives:,}"),
        (RESTORED, f"{tally.restores:,} (in {tally.restored_episodes:,} episodes)"),
        (IMAGES, f"{tally.images:,}"),
        ("CPU seconds per episode", f"{tally.cpu / many:.2f}"),
        (SLOW, f"{tally.slow:,}"),
        (IN_VAIN, f"{tally.in_vain:,} of {tally.waits:,}"),
    ]
    rows += [(words, f"{count:,}") for words, count in tally.deaths.most_common()]
    rows += [(f"violations of {slug}", f"{count:,}") for slug, count in tally.violations.most_common()]
    if not tally.violations:
        rows.append(("violations", "0"))
    return rows


def episode_lines(tally: Tally) -> Iterator[str]:
    """Yields the table at the end of a command, and each failure."""
    for words, figure in summary(tally):
        yield f"{words:<55} {figure}"[:_WIDTH]
    if not tally.restores:
        yield "Not exercised: no life was restored from recovery data."
    for one in tally.failures:
        yield ""
        yield from failure_lines(one)


def failure_lines(one: Failure) -> Iterator[str]:
    """Yields what is known of a failure."""
    yield f"episode {one.number}: {one.first.kind[0]} ({one.verdict})"
    if one.first.said:
        yield f"  {neutral_line(one.first.said)}"
    if one.first.when:
        yield f"  noticed {neutral_line(one.first.when)}"
    if one.reduction is not None:
        yield f"  reduced in {one.reduction.runs} runs; fails {one.reduction.fails} of {one.reduction.tries}:"
        yield from (f"  {line}" for line in steps_of(one))
    yield f"  kept in {neutral_line(str(one.folder))}"


def again_lines(kind: Kind, results: Sequence[Result]) -> Iterator[str]:
    """Yields in how many runs an episode has failed that was kept, and how. `kind`: how it had failed; `PASSED` if
    nobody knows."""
    from conformance.episodes.running import PASSED, STUCK

    def compared(one: Kind) -> str:
        if one == kind or (kind == PASSED and one != STUCK):
            return "same"
        return "without progress" if one == STUCK else "in another way"

    failed = {one.kind: one for one in results if one.kind != PASSED}
    counts = Counter(compared(one.kind) for one in results if one.kind != PASSED)
    shown = ", ".join(f"{counts[how]} {how}" for how in ("in another way", "without progress") if counts[how])
    way = "" if kind == PASSED else " in the same way"
    yield f"fails {counts['same']} of {len(results)}{way}{shown and f' ({shown})'}"
    for (slug, _), one in failed.items():
        yield neutral_line(f"{slug}: {one.said}")


def steps_of(one: Failure) -> Iterator[str]:
    """Yields the smallest known episode."""
    episode = one.episode if one.reduction is None else one.reduction.episode
    yield job_words(episode.config)
    yield from (json.dumps(msgspec.to_builtins(step)) for step in episode.steps)


def job_words(config: EpisodeConfig) -> str:
    """Returns the job of an episode and its knobs. What the adapter has promised is left out."""
    knobs = ", ".join(f"{name} {value}" for name, value in config.knobs.items())
    return f"splits {config.splits}, parallelism {config.parallelism}, keys {config.keys}; {knobs or 'no knobs'}"


def episode_page(tally: Tally, description: Description, command: str, exercised: Sequence[str]) -> str:
    """Returns a page in Markdown. `command`: the one that writes it; `exercised`: all properties, in their order."""
    lines = [
        f"# Episodes of {cell(description.name)} {cell(description.version)}".rstrip(), "",
        "Whole jobs are killed at places in user code or from outside, and started again on what is left, with other"
        " parallelisms; knobs are drawn. [docs/episodes.md](../docs/episodes.md) says what an episode is. Two runs need"
        " not be alike, so these figures are those of one run.", "",
        f"Written by `{command}`{_interrupted(tally)}.", "",
        "| | |", "|---|--:|",
        *(f"| {cell(words)} | {cell(figure)} |" for words, figure in summary(tally)), "",
        "Knobs: " + "; ".join(f"{name}: {', '.join(map(str, dict.fromkeys(values)))}"
                              for name, values in description.knobs.items()) + ".", "",
        "| property | episodes that put it to the test | violations |", "|---|--:|--:|",
        *(f"| `{slug}` | {tally.exercised[slug]:,} | {tally.violations[slug]:,} |" for slug in exercised), "",
    ]  # fmt: skip
    if not tally.restores:
        lines += ["Not exercised: no life was restored from recovery data.", ""]
    for one in tally.failures:
        noticed = f". Noticed {cell(one.first.when)}" if one.first.when else ""
        said = f"{one.verdict}. {cell(one.first.said)}{noticed}"
        lines += [f"## Episode {one.number}: {one.first.kind[0]}", "", said, ""]
        lines += ["```", *steps_of(one), "```", ""]
    return "\n".join(lines)


def _interrupted(tally: Tally) -> str:
    return f", which was interrupted after {tally.episodes:,} episodes" if tally.interrupted else ""
