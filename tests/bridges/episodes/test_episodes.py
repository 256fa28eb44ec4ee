"""Drawing, running again, reducing and showing episodes."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace as replace_
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.bridges.episodes import Episodes as Engine
from conformance.cli import main
from conformance.driver import Kind
from conformance.episodes import COMPONENT, EpisodeConfig, steps
from conformance.episodes.config import SINK
from conformance.episodes.drawing import Episode, draw, plain
from conformance.episodes.reducing import TRIES, candidates, reduce_episode
from conformance.episodes.running import AGAIN, KEPT, PASSED, Episodes, Failure, Result, Tally, read_episode
from conformance.ports import JobOver, JobStatus, Outcome, UnusableImplementation
from conformance.ports.episodes import Description, Output, Promises, UserPlace
from conformance.ports.registry import registered_names
from conformance.reporting import episode_lines, episode_page
from conformance.scenarios import Scenario, Step, encode_scenario
from conformance.system.termination import as_ctrl_c
from tests.bridges.episodes.tiny import command, tiny

ROOT = Path(__file__).resolve().parents[3]
PROMISES = Promises(Output.EXACTLY_ONCE, False, True, True, True, chosen=True, savepoint=True, stops=True)
DESCRIPTION = Description(
    "x", "1", PROMISES, {"every": (1, 4), "files": (1, 2, 3)}, (UserPlace.COUNT,), checkpoints=True
)


def test_a_seed_says_which_episode_it_is() -> None:
    drawn = [draw(DESCRIPTION, f"a/{number}") for number in range(60)]
    assert drawn == [draw(DESCRIPTION, f"a/{number}") for number in range(60)]
    assert {step[0] for one in drawn for step in one.steps} == {kind.name for kind in COMPONENT.steps}
    assert all(COMPONENT.complaint(step) is None for one in drawn for step in one.steps)


def test_some_lives_die_at_their_first_commit_after_a_death_before_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit in recovery that is done again by the next life shows only then."""
    some = replace(DESCRIPTION, places=(UserPlace.COUNT, UserPlace.NOTICE))
    names, again = [f"a/{number}" for number in range(60)], steps.fault("notice", "ends", 1)

    def deaths(one: Episode) -> int:
        return sum(step[:2] == ("fault", "notice") and then == again for step, then in pairwise(one.steps))

    drawn = [draw(some, name) for name in names]
    monkeypatch.setattr("conformance.episodes.drawing.IN_RECOVERY", 0)
    others = [draw(some, name) for name in names]
    assert sum(map(deaths, drawn)) > 10 + sum(map(deaths, others))
    left = [[step for step in one.steps if step != again] for one in drawn]
    assert left == [[step for step in one.steps if step != again] for one in others], "all else is as it was"


def test_nothing_is_drawn_that_was_not_promised() -> None:
    modest = Description("x")
    drawn = [draw(modest, f"a/{number}") for number in range(60)]
    names = {step[0] for one in drawn for step in one.steps}
    assert not names & {"fault", "image", "end"}
    assert all(
        step[1:] == (one.config.parallelism, 0) for one in drawn for step in one.steps if step[0] == "start_again"
    )
    assert plain(modest).config.parallelism == 1


_IDLE = steps.settle("idle")
LARGE = Episode(
    EpisodeConfig(3, 2, 8, {"every": 4, "files": 3}, PROMISES),
    (
        steps.supply(0, 55), steps.supply(2, 34), steps.advance(20), steps.kill(), steps.start_again(2, 0),
        steps.supply(1, 21), steps.fault("count", "ends", 13), steps.settle("idle"), steps.rows(SINK), steps.kill(),
        steps.start_again(3, 0), steps.supply(0, 8),
    ),
)  # fmt: skip


def _kills_after(one: Episode, records: int) -> bool:
    """Fails if a life dies or is killed after so many records were supplied."""
    supplied = 0
    for step in one.steps:
        supplied += step[2] if step[0] == "supply" else 0
        if step[0] in ("kill", "fault") and supplied >= records:
            return True
    return False


def test_a_reduction_takes_everything_away_that_does_not_matter() -> None:
    found = reduce_episode(LARGE, DESCRIPTION, lambda one: _kills_after(one, 5), 3_000)
    assert found.fails == TRIES
    assert found.episode.config == EpisodeConfig(1, 1, 1, {"every": 1, "files": 1}, PROMISES)
    assert [step[0] for step in found.episode.steps] == ["supply", "kill"]
    assert found.episode.steps[0] == steps.supply(0, 5)


def test_a_reduction_keeps_within_its_budget() -> None:
    runs: list[Episode] = []

    def never(one: Episode) -> bool:
        runs.append(one)
        return False

    found = reduce_episode(LARGE, DESCRIPTION, never, 10)
    assert found.episode == LARGE
    assert found.fails == 0
    assert len(runs) == found.runs <= 10 + TRIES


def test_a_reduction_that_is_interrupted_has_left_what_it_had_reached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: list[Episode] = []

    def run(of: Episodes, episode: Episode, keep: Path | None = None) -> Result:
        if len(runs) == AGAIN + 2:
            raise KeyboardInterrupt
        runs.append(episode)
        return SAME

    monkeypatch.setattr(Episodes, "run", run)
    with tiny("cut") as engine:
        of = Episodes(engine, tmp_path)
        with pytest.raises(KeyboardInterrupt):
            of._failed(Tally(), 0, LARGE, SAME, tmp_path)
    assert read_episode(tmp_path / "minimal.json") == (runs[-1], SAME.kind)
    assert len(runs[-1].steps) < len(runs[-2].steps) < len(LARGE.steps)


def test_a_place_takes_the_place_of_a_time() -> None:
    found = {step for one in candidates(LARGE, DESCRIPTION) for step in one.steps if step[0] == "fault"}
    assert {steps.fault("count", "ends", nth) for nth in (21, 5)} <= found


def test_an_honest_engine_passes_and_its_restores_are_counted(tmp_path: Path) -> None:
    with tiny("two-phase") as engine:
        of, tally = Episodes(engine, tmp_path), Tally()
        of.check()
        list(of.search("1", 2, tally))
    assert not tally.failures
    assert tally.restores
    assert tally.lives > 2
    assert tally.deaths
    assert list(tmp_path.glob("runs/*")) == []


def test_a_failure_is_run_again_reduced_and_kept(tmp_path: Path) -> None:
    with tiny("cut", "doubled") as engine:
        of, tally = _Few(engine, tmp_path), Tally()
        list(of.search("", 1, tally))
    (failure,) = tally.failures
    assert failure.first.slug == "nothing-is-committed-twice-or-made-up"
    assert failure.again == failure.runs == 5
    assert failure.reduction is None
    assert {"episode.json", "finding.txt", "job", "life-0.log"} <= {one.name for one in failure.folder.iterdir()}
    assert any("again in 5 of 5 runs" in line for line in episode_lines(tally))


def test_what_is_kept_is_described(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "episodes.md").read_text("utf-8")
    for kind in COMPONENT.steps:
        assert f'`["{kind.name}"' in page, kind.name
    with tiny("cut", "early") as engine:
        made = steps.supply(0, 5), _IDLE, steps.image(), steps.kill(), steps.start_again(1, 1), steps.supply(0, 34)
        episode = Episode(EpisodeConfig(knobs={"every": 1}, promises=engine.describe().promises), made)
        found = Episodes(engine, tmp_path).run(episode, tmp_path / "kept")
    assert found.slug
    for one in (tmp_path / "kept").iterdir():
        assert f"`{re.sub('[1-9]', '0', one.name)}`" in page, one.name


@pytest.mark.parametrize(("done", "verdict"), [(0, "seen once, and not run again"), (2, "again in 2 of 2 runs")])
def test_a_failure_counts_although_its_further_runs_are_interrupted(
    done: int, verdict: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(of: Episodes, episode: Episode, keep: Path | None = None) -> Result:
        if keep is not None:
            keep.mkdir(parents=True)
            (keep / KEPT).touch()
        elif len(runs) == done:
            raise KeyboardInterrupt
        else:
            runs.append(episode)
        return SAME

    runs: list[Episode] = []
    monkeypatch.setattr(Episodes, "run", run)
    monkeypatch.setattr(Episodes, "check", lambda of: None)
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut")), "--into", str(tmp_path)])
    assert ended.value.code == 130
    said = capsys.readouterr()
    assert f"episode 0: {SAME.slug} ({verdict})" in said.err
    assert str(tmp_path / "episode-0000") in said.err
    assert f"violations of {SAME.slug}" in said.out


class _Few(Episodes):
    """Draws an episode of two lives, and reduces nothing."""

    def __init__(self, implementation: Engine, folder: Path) -> None:
        super().__init__(implementation, folder, reduces=False)

    def episode(self, seed: str, number: int) -> Episode:
        made: tuple[Step, ...] = (
            steps.supply(0, 5), steps.settle("idle"), steps.kill(), steps.start_again(1, 0), steps.supply(0, 5),
        )  # fmt: skip
        return Episode(EpisodeConfig(knobs={"every": 1}, promises=self.description.promises), made)


def test_an_adapter_whose_plain_run_fails_is_accused_itself(tmp_path: Path) -> None:
    (tmp_path / "plain-run-0").mkdir()
    (tmp_path / "plain-run-0" / "thesis.txt").write_text("of somebody else")
    with tiny("cut", "plain", 2.0) as engine:
        with pytest.raises(UnusableImplementation, match="without any failure") as refused:
            Episodes(engine, tmp_path).check()
        kept = tmp_path / "plain-run-1"
        assert f"are kept in {kept}" in str(refused.value)
        assert {"episode.json", "finding.txt", "job", "life-0.log"} <= {one.name for one in kept.iterdir()}
        assert read_episode(kept / KEPT)[0] == plain(engine.describe())
        assert [one.name for one in (tmp_path / "plain-run-0").iterdir()] == ["thesis.txt"]
        with pytest.raises(UnusableImplementation, match="`conformance episodes` with the same adapter keeps its logs"):
            Episodes(engine).check()


def test_an_engine_that_ends_before_its_input_is_told_that_its_processes_did(tmp_path: Path) -> None:
    with tiny("cut", "early") as engine, pytest.raises(UnusableImplementation) as refused:
        Episodes(engine, tmp_path).check()
    said = "; its processes have ended with status 0, although its input has not ended. Logs"
    assert f"a job finishes when all of its sources have ended{said}" in str(refused.value)


@pytest.mark.slow  # it waits for the end of the patience; what is kept, and where, is tested above
def test_the_command_leaves_the_evidence_of_a_plain_run_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut", "plain")), "--into", str(tmp_path)])
    assert ended.value.code == 2
    assert [one.name for one in tmp_path.iterdir()] == ["plain-run-0"]
    assert str(tmp_path / "plain-run-0") in "".join(capsys.readouterr().err.split("\n"))


@pytest.mark.slow  # it waits: for the end of the patience, three times and then twice
def test_who_is_stuck_is_a_finding_only_if_that_happens_again(tmp_path: Path) -> None:
    with tiny("cut", "hangs", 1.5) as engine:
        of, tally = _Few(engine, tmp_path), Tally()
        list(of.search("", 1, tally))
        assert tally.violations == {"a-job-is-over-once-and-for-a-reason": 1}
    with tiny("cut", "", 5.0) as engine:
        others, tally = _Few(engine, tmp_path), Tally()
        others._failed(tally, 0, others.episode("", 0), Result(stuck=True), tmp_path)
    assert (tally.slow, tally.failures) == (1, [])


def test_a_wait_without_progress_is_counted(tmp_path: Path) -> None:
    """Many of them say that `start_seconds` is too small: then lives are killed before anything was restored."""
    over = JobOver(JobStatus.FINISHED)
    outcomes: list[tuple[Step, bool | None, tuple[JobOver, ...]]] = [
        (_IDLE, True, ()), (_IDLE, False, ()), (steps.settle("no-checkpoint"), False, ()), (_IDLE, False, (over,)),
        (steps.settle("over"), True, (over,)), (steps.supply(0, 1), None, ()),
    ]  # fmt: skip
    entries = [
        SimpleNamespace(step=step, closing=False, outcome=Outcome(value, signals)) for step, value, signals in outcomes
    ]
    done: Any = SimpleNamespace(entries=entries, exercised=(), violation=None)
    with tiny("cut") as engine:
        found = Episodes(engine)._result(done, tmp_path)
    assert (found.waits, found.in_vain) == (3, 2)
    tally = Tally()
    tally.add(found)
    tally.add(found)
    assert "waits that ended without progress                       4 of 6" in list(episode_lines(tally))


def _made_up() -> Tally:
    tally = Tally()
    first = Result("the-state-is-the-recount", "lost", "key 0 has 31 records", "it is 29", lives=3, restores=2)
    first.deaths["died at count"] += 2
    tally.add(first)
    tally.fail(Failure(0, LARGE, first, Path("folder"), runs=5))
    return tally


def test_the_table_fits_a_screen_and_says_what_was_seen_once() -> None:
    lines = list(episode_lines(_made_up()))
    assert all(len(line) <= 80 for line in lines)
    assert any("seen once, in none of 5 further runs" in line for line in lines)
    assert "Not exercised: no life was restored from recovery data." in list(episode_lines(Tally()))
    page = episode_page(_made_up(), DESCRIPTION, "conformance episodes x", ["the-state-is-the-recount"])
    assert "| `the-state-is-the-recount` | 1 | 1 |" in page
    page = episode_page(Tally(episodes=7, interrupted=True), DESCRIPTION, "conformance episodes x", [])
    assert "`conformance episodes x`, which was interrupted after 7 episodes." in page


@pytest.mark.parametrize("before", [False, True])
def test_what_an_episode_breaks_was_put_to_the_test(before: bool) -> None:
    for one in (OTHER, SLOW):
        tally, slug = Tally(), one.kind[0]
        first = replace_(one, exercised=frozenset({slug} if before else ()))
        tally.add(first)
        tally.fail(Failure(0, LARGE, first, Path("folder")))
        assert (tally.exercised[slug], tally.violations[slug]) == (1, 1)


def test_each_rule_is_in_a_page() -> None:
    pages = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("episodes.md", "specification/pipeline.md"))
    for one in COMPONENT.properties:
        if one.kind is not Kind.SOMETIMES:
            assert f'id="{one.invariant}"' in pages or one.invariant in ("I-90", "I-93"), one.slug


def test_the_command_says_what_it_has_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if "episodes" not in registered_names():
        pytest.skip("the entry point is newer than the installation: install it again")
    words = " ".join(command("two-phase"))
    with pytest.raises(SystemExit) as ended:
        main(["episodes", words, "--episodes", "1", "--seed", "1", "--report", str(tmp_path / "page.md")])
    assert ended.value.code in (0, 3)
    assert "restores from recovery data" in capsys.readouterr().out
    assert "# Episodes of tiny two-phase" in (tmp_path / "page.md").read_text("utf-8")


def test_sigterm_ends_the_command_with_what_was_run_by_then(tmp_path: Path) -> None:
    """Also where Ctrl-C is ignored, as in the background of a shell."""
    if "episodes" not in registered_names():
        pytest.skip("the entry point is newer than the installation: install it again")
    page = tmp_path / "page.md"
    words = [
        "episodes",
        shlex.join(command("two-phase", "terminates")),
        "--episodes",
        "50",
        "--seed",
        "3",
        "--report",
        str(page),
    ]
    done = subprocess.run(
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c",
         "from conformance.cli import main; main()", *words],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "interrupted after 1 of 50 episodes\n")
    assert "restores from recovery data" in done.stdout
    assert "which was interrupted after 1 episodes." in page.read_text("utf-8")


def test_a_second_sigterm_does_not_lose_the_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As `timeout` sends it: to the command, and then to its group."""

    def search(of: Episodes, seed: str, count: int, tally: Tally) -> Iterator[Result]:
        yield Result()
        tally.add(Result(lives=3))
        signal.raise_signal(signal.SIGTERM)

    def lines(tally: Tally) -> Iterator[str]:
        signal.raise_signal(signal.SIGTERM)
        yield from episode_lines(tally)

    monkeypatch.setattr(Episodes, "search", search)
    monkeypatch.setattr(Episodes, "check", lambda of: None)
    monkeypatch.setattr("conformance.reporting.episode_lines", lines)
    page = tmp_path / "page.md"
    with as_ctrl_c():
        before = signal.getsignal(signal.SIGTERM)
        assert before is not signal.SIG_DFL
        with pytest.raises(SystemExit) as ended:
            main(["episodes", shlex.join(command("cut")), "--into", str(tmp_path / "x"), "--report", str(page)])
        assert signal.getsignal(signal.SIGTERM) is before
    said = capsys.readouterr()
    assert (ended.value.code, said.err) == (130, "interrupted after 1 of 20 episodes\n")
    assert "lives                                                   3" in said.out
    assert page.exists()


@pytest.mark.parametrize("kept", [True, False])
def test_evidence_that_was_kept_is_still_there_when_the_command_has_ended(
    kept: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(adapter: str, count: int, seed: str, folder: Path, *more: object) -> Tally:
        (folder / "episode-0007").mkdir()
        if kept:
            (folder / "episode-0007" / KEPT).touch()
        raise UnusableImplementation("It cannot go on.")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys.modules["conformance.cli.episodes"], "_run", run)
    with pytest.raises(SystemExit):
        main(["episodes", "it"])
    assert [one.name for one in tmp_path.rglob("episode-0007")] == ["episode-0007"] * kept


def test_a_finding_says_in_which_life_and_at_which_step(tmp_path: Path) -> None:
    with tiny("two-phase", "crashes") as engine:
        of = Episodes(engine, tmp_path)
        settings = EpisodeConfig(knobs={"every": 1}, promises=of.description.promises)
        made = steps.supply(0, 13), _IDLE, steps.kill(), steps.start_again(1, 0), steps.supply(0, 13), _IDLE
        first = of.run(Episode(settings, made), tmp_path / "kept")
        later = of.run(Episode(settings, made[:-1]))
    assert first.when == 'in life 1 (life-1.log), at step 6 of episode.json: ["settle", "idle"]'
    said = (tmp_path / "kept" / "finding.txt").read_text("utf-8")
    assert said == f"{first.slug}: {first.said}\nNoticed {first.when}.\n"
    assert later.when == 'in life 1 (life-1.log), after the last step of episode.json: ["settle", "over"]'
    failure = Failure(0, LARGE, first, tmp_path)
    tally = Tally(failures=[failure])
    assert f"  noticed {first.when}" in list(episode_lines(tally))
    assert "Noticed in life 1" in episode_page(tally, DESCRIPTION, "conformance episodes x", [])


@pytest.mark.parametrize("name", ["replay", "shrink"])
def test_a_kept_episode_is_no_scenario_of_the_suite(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "an episode.json"
    file.write_text(encode_scenario(Scenario("episode", LARGE.config, LARGE.steps)), "utf-8")
    with pytest.raises(SystemExit) as ended:
        main([name, str(file)])
    assert ended.value.code == 2
    assert f"conformance episodes ADAPTER --again '{file}'" in "".join(capsys.readouterr().err.split("\n"))


def test_a_kept_episode_is_run_again(tmp_path: Path) -> None:
    with tiny("cut", "state") as engine:
        of, tally = _Few(engine, tmp_path), Tally()
        list(of.search("", 1, tally))
        episode, kind = read_episode(tally.failures[0].folder / "episode.json")
        assert (episode, kind) == (of.episode("", 0), ("the-state-is-the-recount", "lost"))
        assert {one.kind for one in of.again(episode)} == {kind}


SAME, OTHER = Result("the-state-is-the-recount", "lost", "2", "1"), Result("what-was-committed-stays", "lost", "1", "0")
SLOW = Result(stuck=True, owed="it goes on", observed="it does not")


@pytest.mark.parametrize(
    ("kind", "results", "line", "status"),
    [
        (SAME.kind, [SAME, SAME, OTHER, SLOW, Result()], "fails 2 of 5 in the same way (1 in another way, 1 without"
         " progress)", 1),
        (SAME.kind, [SLOW, Result()], "fails 0 of 2 in the same way (1 without progress)", 0),
        (SLOW.kind, [SLOW, Result()], "fails 1 of 2 in the same way", 0),
        (SLOW.kind, [SLOW, SLOW], "fails 2 of 2 in the same way", 1),
        (SLOW.kind, [SAME, SLOW], "fails 1 of 2 in the same way (1 in another way)", 1),
        (PASSED, [SAME, OTHER, SLOW], "fails 2 of 3 (1 without progress)", 1),
        (PASSED, [Result()], "fails 0 of 1", 0),
    ],
)  # fmt: skip
def test_no_progress_is_counted_apart_when_an_episode_is_run_again(
    kind: tuple[str, str], results: list[Result], line: str, status: int, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    (tmp_path / KEPT).touch()
    monkeypatch.setattr("conformance.episodes.running.read_episode", lambda path: (LARGE, kind))
    monkeypatch.setattr("conformance.episodes.running.Episodes.again", lambda of, episode: results)
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut")), "--again", str(tmp_path / KEPT), "--into", str(tmp_path / "x")])
    first, *others = capsys.readouterr().out.splitlines()
    assert (first, len(others), ended.value.code) == (line, len({one.kind for one in results} - {PASSED}), status)


def test_the_run_ends_once_so_many_episodes_have_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def search(of: Episodes, seed: str, count: int, tally: Tally) -> Iterator[Result]:
        for number in range(count):
            tally.add(Result(lives=3, restores=1))
            if number in (2, 5, 7):
                tally.failures.append(Failure(number, LARGE, SAME, tmp_path))
            yield Result()

    monkeypatch.setattr(Episodes, "search", search)
    monkeypatch.setattr(Episodes, "check", lambda of: None)
    page = tmp_path / "page.md"
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut")), "--failures", "2", "--report", str(page)])
    assert ended.value.code == 1
    assert "episodes                                                6" in capsys.readouterr().out
    assert "--episodes 20 --seed 0 --failures 2" in page.read_text("utf-8")


def test_what_was_run_before_an_adapter_fails_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def search(of: Episodes, seed: str, count: int, tally: Tally) -> Iterator[Result]:
        assert of.implementation.root is not None
        (of.implementation.root / "run-x").mkdir(parents=True)  # the one that was broken off
        tally.add(Result(lives=3))
        yield Result()
        raise UnusableImplementation("The adapter cannot prepare.")

    monkeypatch.setattr(Episodes, "search", search)
    monkeypatch.setattr(Episodes, "check", lambda of: None)
    page = tmp_path / "page.md"
    (tmp_path / "into" / "runs").mkdir(parents=True)
    (tmp_path / "into" / "runs" / "thesis.txt").write_text("of somebody else")
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut")), "--into", str(tmp_path / "into"), "--report", str(page)])
    assert ended.value.code == 2
    assert "lives                                                   3" in capsys.readouterr().out
    assert "which was interrupted after 1 episodes." in page.read_text("utf-8")
    assert [one.name for one in (tmp_path / "into").rglob("*")] == ["runs", "thesis.txt"]


@pytest.mark.parametrize("at", ["", "1"])
def test_a_folder_with_episodes_of_an_earlier_run_takes_no_others(
    at: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / at / "episode-0003" / KEPT
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(SystemExit) as ended:
        main(["episodes", shlex.join(command("cut")), "--into", str(tmp_path)])
    assert ended.value.code == 2
    assert "name another folder" in capsys.readouterr().err
    assert kept.exists()


def test_an_episode_that_was_only_slow_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with tiny("cut") as engine:
        of, tally = _Few(engine, tmp_path), Tally()
        monkeypatch.setattr(of, "often", lambda episode, kind: (1, 2))
        place = tmp_path / "episode-0000"
        place.mkdir()
        of._failed(tally, 0, of.episode("", 0), SLOW, place)
    assert (tally.slow, place.exists()) == (1, False)


BYTEWAX = (sys.executable, "-B", str(ROOT / "examples" / "bytewax" / "adapter.py"))
KNOBS = {"interval": 0, "batch": 3, "backup": 0, "stores": 1, "files": 2, "processes": 1}
TWO_LIVES = (
    steps.supply(0, 34), steps.supply(1, 21), steps.fault("count", "ends", 34), steps.settle("idle"), steps.kill(),
    steps.start_again(2, 0), steps.supply(0, 5),
)  # fmt: skip


def _on_bytewax(root: Path) -> Result:
    pytest.importorskip("bytewax", reason="pip install '.[bytewax]'")
    engine = Engine(BYTEWAX)
    try:
        of = Episodes(engine, root)
        config = replace(plain(of.description).config, parallelism=1, knobs=KNOBS)
        return of.run(Episode(config, TWO_LIVES))
    finally:
        engine.close()


def test_bytewax_keeps_its_promises(tmp_path: Path) -> None:
    found = _on_bytewax(tmp_path)
    assert found.kind == ("", "")
    assert found.restores


@pytest.mark.slow  # a second each, and another engine
@pytest.mark.parametrize(
    ("bug", "slug"),
    [
        ("skips", "a-job-finishes-when-all-is-committed"),
        ("reads again", "nothing-is-committed-twice-or-made-up"),
        ("forgets", "the-state-is-the-recount"),
        ("keeps output", "nothing-is-committed-twice-or-made-up"),
    ],
)
def test_a_bug_in_a_job_on_bytewax_is_found(
    bug: str, slug: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EPISODE_BUG", bug)
    assert _on_bytewax(tmp_path).slug == slug


STALE = ROOT / "reports" / "bytewax-findings" / "stale-state" / "stale.py"


@pytest.mark.parametrize(
    ("control", "status", "count"), [((), 1, 2), (("control",), 0, 1)], ids=["as it is", "control"]
)
def test_bytewax_takes_a_state_again_that_was_undone(control: tuple[str, ...], status: int, count: int) -> None:
    """A release that has mended this lets the test fail: then the page says so."""
    pytest.importorskip("bytewax", reason="pip install '.[bytewax]'")
    done = subprocess.run([sys.executable, "-B", STALE, *control], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, f"there is 1 record of the key, and its last count is {count}\n")
