"""`conformance episodes`: whole jobs of engines that are programs, killed and started again."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import FrameType
from typing import TYPE_CHECKING

import click

from conformance import reporting
from conformance.cli.destinations import TO_FILE, TO_FOLDER
from conformance.cli.options import notes, out, seed_option
from conformance.driver import Kind
from conformance.ports import UnusableImplementation, find_implementation
from conformance.ports.episodes import EpisodesImplementation
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, INTERRUPTED, VIOLATION
from conformance.system.text import neutral_line
from conformance.system.writing import write_text

if TYPE_CHECKING:
    from conformance.episodes.running import Episodes, Failure, Tally


@click.command(short_help="Kill whole jobs, start them again, judge what comes out.")
@click.argument("adapters", metavar="ADAPTER...", nargs=-1, required=True)
@click.option("--episodes", "count", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@seed_option
@click.option(
    "--into", "into_path", metavar="FOLDER", type=TO_FOLDER,
    help="Keep the folders of episodes that fail: recovery data, output, logs. It must have none of an earlier run.",
)  # fmt: skip
@click.option("--report", "report_path", metavar="FILE", type=TO_FILE, help="Write a page about the last adapter.")
@click.option(
    "--again", "again_path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run this episode, which was kept, five times, and no others.",
)  # fmt: skip
@click.option("--failures", "most", metavar="N", type=click.IntRange(1), help="End once so many episodes have failed.")
@click.option("--no-reduction", is_flag=True, help="Do not look for smaller episodes, which takes most of the time.")
def episodes(
    adapters: tuple[str, ...], count: int, seed: str, into_path: Path | None, report_path: Path | None,
    again_path: Path | None, most: int | None, no_reduction: bool,
) -> int:  # fmt: skip
    """Kill whole jobs, start them again on what is left, and judge what comes out.

    ADAPTER is the command of a program (docs/episodes.md), as "python adapter.py". A run without any failure comes
    first: if it does not pass, the adapter is wrong, and not the engine (2). An episode that fails is run again five
    times, and reduced. Ctrl-C or SIGTERM ends the run, and shows what was run until then. If no life was restored from
    recovery data, the result is inconclusive (3).
    """
    from conformance.episodes.running import KEPT

    if into_path is not None and again_path is None and _has_kept(into_path):
        raise click.UsageError(f"{into_path} has episodes that an earlier run has kept: name another folder")
    root = Path(mkdtemp(prefix="episodes-")) if into_path is None else into_path
    with _terminated_once():
        try:
            if again_path is not None:
                return max(_again(adapter, again_path, root) for adapter in adapters)
            return _run_all(adapters, count, seed, root, not no_reduction, report_path, most)
        finally:
            if into_path is None and not any(root.rglob(KEPT)):  # else it is where the evidence was said to be
                rmtree(root, ignore_errors=True)


@contextmanager
def _terminated_once() -> Iterator[None]:
    """Let only the first SIGTERM interrupt the command while the `with` block runs.

    What stops a build often sends it twice, to the process and to its group: the second one comes while the result
    is printed.
    """
    usual = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(number, _let_pass)
        usual(number, frame)

    signal.signal(signal.SIGTERM, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _let_pass(number: int, frame: FrameType | None) -> None:
    """Do nothing. A signal that is ignored instead would be ignored by the programs, too, that are started then."""


def _run_all(
    adapters: tuple[str, ...], count: int, seed: str, root: Path, reduces: bool, report_path: Path | None,
    most: int | None,
) -> int:  # fmt: skip
    """Runs the episodes of each adapter, until one of them is interrupted. Returns the exit status."""
    status = CONFORMS
    for at, adapter in enumerate(adapters):
        folder = root / str(at) if len(adapters) > 1 else root
        tally = _run(adapter, count, seed, folder, reduces, report_path, most)
        if tally.interrupted:
            return INTERRUPTED
        if tally.failures:
            status = VIOLATION
        elif not tally.restores and status == CONFORMS:
            status = INCONCLUSIVE
    return status


def _has_kept(folder: Path) -> bool:
    """Returns whether there are episodes that were kept, also of one of several adapters."""
    from conformance.episodes.running import KEPT

    return any(any(folder.glob(f"{at}episode-*/{KEPT}")) for at in ("", "*/"))


@contextmanager
def _found(adapter: str, folder: Path) -> Iterator[EpisodesImplementation]:
    """Yields the engine behind an adapter. Then it is ended, and what a run has left that was broken off is deleted."""
    name = adapter if adapter.startswith("episodes:") else f"episodes:{adapter}"
    implementation = find_implementation(name)
    if not isinstance(implementation, EpisodesImplementation):
        raise UnusableImplementation(f"{name} has no episodes.")
    with ExitStack() as last_first:
        last_first.callback(_delete_runs, implementation)
        last_first.callback(implementation.close)
        yield implementation


def _delete_runs(implementation: EpisodesImplementation) -> None:
    if implementation.root is not None:
        rmtree(implementation.root, ignore_errors=True)


def _again(adapter: str, path: Path, folder: Path) -> int:
    """Runs one episode several times, and prints in how many of them it fails."""
    from conformance.episodes.running import Episodes, read_episode

    episode, kind = read_episode(path)
    with _found(adapter, folder) as implementation:
        results = Episodes(implementation, folder.absolute()).again(episode)
    for line in reporting.again_lines(kind, results):
        out.print(line, markup=False, soft_wrap=True)
    accused = any(one.slug for one in results) or all(one.stuck for one in results)
    return VIOLATION if accused else CONFORMS


def _run(
    adapter: str, count: int, seed: str, folder: Path, reduces: bool, report_path: Path | None, most: int | None
) -> Tally:
    """Runs the episodes of one adapter, and shows what they have come to, also those before one that cannot be run.
    `most`: how many failures end the run."""
    from conformance.episodes.running import Episodes, Tally

    words = ["conformance", "episodes", adapter, "--episodes", str(count), "--seed", seed]
    words += [] if most is None else ["--failures", str(most)]
    words += [] if reduces else ["--no-reduction"]
    tally = Tally()
    with _found(adapter, folder) as implementation:
        of = Episodes(implementation, folder.absolute(), reduces)
        out.print(f"{neutral_line(of.description.name)} {neutral_line(of.description.version)}", markup=False)
        try:
            of.check()
            _search(of, seed, count, tally, most)
        except KeyboardInterrupt:
            notes.print(f"interrupted after {tally.episodes} of {count} episodes", markup=False)
            tally.interrupted = True
        except UnusableImplementation:
            tally.interrupted = True
            if tally.episodes:
                _show(of, tally, words, report_path)
            raise
    _show(of, tally, words, report_path)
    return tally


def _search(of: Episodes, seed: str, count: int, tally: Tally, most: int | None) -> None:
    """Runs the episodes, and prints each failure when it was run again, or when the runs are interrupted."""
    shown = 0
    try:
        for number, _ in enumerate(of.search(seed, count, tally)):
            _print_failures(tally.failures[shown:])
            shown = len(tally.failures)
            if most is not None and shown >= most:
                break
            if number % 50 == 49:
                notes.print(f"{number + 1} of {count} episodes", markup=False)
    finally:
        _print_failures(tally.failures[shown:])


def _print_failures(failures: Iterable[Failure]) -> None:
    for one in failures:
        for line in reporting.failure_lines(one):
            notes.print(line, markup=False, soft_wrap=True)


def _show(of: Episodes, tally: Tally, words: list[str], report_path: Path | None) -> None:
    """Prints what episodes have come to, and writes the page. `words`: the command, without the page."""
    for line in reporting.episode_lines(tally):
        out.print(line, markup=False, soft_wrap=True)
    if report_path is not None:
        rules = [one.slug for one in of.program.properties if one.kind is not Kind.SOMETIMES]
        command = shlex.join([*words, "--report", str(report_path)])
        write_text(report_path, reporting.episode_page(tally, of.description, command, rules))
