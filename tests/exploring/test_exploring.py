"""Explorations by many processes, in a folder."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.campaigns import CampaignError
from conformance.campaigns.code import code_by_names
from conformance.campaigns.lock import held
from conformance.campaigns.names import SUITE
from conformance.engines.interruption import OnRequest
from conformance.exploring import ExplorationError, Machine, explore_into
from conformance.exploring.folder import Folder
from conformance.exploring.rows import HASH_BYTES
from tests.exploring.scopes import DEQUE, DRAINS, EXCHANGES, SCOPES, SUBPARTITION, by_one_process, compared, explored

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("component", "implementation", "scope"),
    [*SCOPES[:2], *(pytest.param(*one, marks=pytest.mark.slow) for one in SCOPES[2:])],
)
def test_many_tasks_find_what_one_process_finds(tmp_path, component, implementation, scope):
    one = by_one_process(component, implementation, scope)
    many = explore_into(tmp_path, explored(component, implementation, scope), Machine(1))
    assert one.complete
    assert compared(many) == compared(one)


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("what", [DRAINS, EXCHANGES, SUBPARTITION], ids=["drains", "exchanges", "subpartition"])
def test_an_exploration_of_some_levels_judges_every_drain(tmp_path, what, depth):
    one = by_one_process(*what, depth=depth)
    assert not one.complete
    assert compared(explore_into(tmp_path, explored(*what), Machine(1), depth)) == compared(one)


@pytest.mark.parametrize(
    ("what", "table", "fewest"),
    [(SUBPARTITION, "left", 100), (SUBPARTITION, "drains", 20), (DRAINS, "broken", 50), (EXCHANGES, "states", 100)],
)
def test_the_scopes_have_what_could_go_wrong(tmp_path, what, table, fewest):
    """Drains that are left to later states, drains that are owed, drains that break a property, states alike."""
    folder = Folder(tmp_path)
    explore_into(tmp_path, explored(*what), Machine(1))
    rows = [
        row
        for level in range(len(list((tmp_path / "levels").iterdir())))
        for batch in folder.read(level, table)
        for row in batch.to_pylist()
    ]
    assert len(rows) >= fewest
    assert table != "states" or all(len(one["others"]) == HASH_BYTES for one in rows)


def test_two_processes_find_the_same(tmp_path):
    many = explore_into(tmp_path, explored(*SUBPARTITION), Machine(2))
    assert compared(many) == compared(by_one_process(*SUBPARTITION))


@pytest.mark.slow  # explorations in processes of their own; what a kill leaves behind is tried by default
@pytest.mark.parametrize("level", [0, 7])
def test_an_exploration_that_was_killed_goes_on(tmp_path, level):
    command = [sys.executable, "-m", "tests.exploring.killed", str(tmp_path), str(level)]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "levels").glob("*/level.json"))) == level + 1
    assert compared(explore_into(tmp_path, explored(*DRAINS), Machine(1))) == compared(by_one_process(*DRAINS))


@pytest.mark.slow  # an exploration of its own
def test_what_does_not_count_is_removed(tmp_path):
    whole = explore_into(tmp_path, explored(*DRAINS), Machine(1), depth=12)
    for level in (6, 9):  # as if a level had been torn off, and later ones were of another time
        (tmp_path / "levels" / f"{level:05}" / "level.json").unlink()
    kept = (tmp_path / "levels" / "00005" / "level.json").stat().st_mtime_ns
    assert compared(explore_into(tmp_path, explored(*DRAINS), Machine(1), depth=12)) == compared(whole)
    assert (tmp_path / "levels" / "00005" / "level.json").stat().st_mtime_ns == kept


def test_what_is_still_being_written_for_a_driver_that_was_killed_counts_for_nothing(tmp_path):
    """The jobs of a Spark Connect server go on when their driver was killed."""
    before = Folder(tmp_path)
    explore_into(tmp_path, explored(*SUBPARTITION), Machine(1), depth=2)
    before.resume(explored(*SUBPARTITION), code_by_names(("reference",), SUITE))
    before.begin()

    def progress(level, states, transitions):
        with before.writing(3, "states") as writer:
            writer.write_table(pa.Table.from_batches(before.read(2, "states")))

    many = explore_into(tmp_path, explored(*SUBPARTITION), Machine(1), depth=4, progress=progress)
    assert compared(many) == compared(by_one_process(*SUBPARTITION, depth=4))
    assert sorted(one.name for one in (tmp_path / "levels").iterdir()) == [f"{level:05}" for level in range(5)]


def test_an_exploration_that_has_ended_is_read(tmp_path):
    whole = explore_into(tmp_path, explored(*DRAINS), Machine(1))
    times = {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*") if one.name != "driver.lock"}
    assert compared(explore_into(tmp_path, explored(*DRAINS), Machine(1))) == compared(whole)
    assert {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*") if one.name != "driver.lock"} == times


@pytest.mark.slow  # an exploration of its own
def test_a_limit_can_be_raised(tmp_path):
    assert explore_into(tmp_path, explored(*DRAINS), Machine(1), depth=4).depth == 4
    result = explore_into(tmp_path, explored(*DRAINS), Machine(1), depth=9)
    assert compared(result) == compared(by_one_process(*DRAINS, depth=9))
    limited = explore_into(tmp_path, explored(*DRAINS), Machine(1), most_states=300)
    assert 300 <= limited.states < 600
    assert not limited.complete


def test_an_interrupted_exploration_says_what_is_missing_and_goes_on(tmp_path):
    interruption = OnRequest()

    def progress(level, states, transitions):
        if level == 8:
            interruption.request()

    what = explored(*DRAINS)
    seen = explore_into(tmp_path, what, Machine(1), progress=progress, interruption=interruption)
    assert seen.interrupted
    assert not seen.complete
    assert 0 < seen.undrained < seen.states
    assert compared(explore_into(tmp_path, what, Machine(1))) == compared(by_one_process(*DRAINS))


@pytest.mark.slow  # an exploration of its own; it is killed in another way by default
def test_a_process_that_is_killed_ends_the_exploration_which_goes_on(tmp_path):
    others = set(multiprocessing.active_children())

    def progress(level, states, transitions):
        for child in set(multiprocessing.active_children()) - others:
            child.kill()

    what = explored(*SUBPARTITION)
    with pytest.raises(ExplorationError, match=r"was killed.* same command goes on"):
        explore_into(tmp_path, what, Machine(2), progress=progress)
    assert compared(explore_into(tmp_path, what, Machine(1))) == compared(by_one_process(*SUBPARTITION))


def test_one_process_at_a_time_explores_into_a_folder(tmp_path):
    with (
        held(tmp_path),
        pytest.raises(CampaignError, match=f"The exploration in .* is being run by process {os.getpid()}"),
    ):
        explore_into(tmp_path, explored(*DEQUE), Machine(1))


def test_another_exploration_is_not_continued(tmp_path):
    explore_into(tmp_path, explored(*DEQUE), Machine(1))
    with pytest.raises(ExplorationError, match=r"of deque on reference with elements=2, and not of subpartition"):
        explore_into(tmp_path, explored(*SUBPARTITION), Machine(1))


def test_an_exploration_by_other_code_is_not_continued(tmp_path):
    explore_into(tmp_path, explored(*DEQUE), Machine(1))
    home = tmp_path / "exploration.json"
    home.write_text(home.read_text().replace('"conformance/driver/world.py": "', '"conformance/driver/world.py": "0'))
    with pytest.raises(ExplorationError, match=r"other code: conformance/driver/world.py is changed"):
        explore_into(tmp_path, explored(*DEQUE), Machine(1))


def test_an_exploration_that_was_killed_before_it_had_begun_begins(tmp_path):
    (tmp_path / "driver.lock").touch()
    (tmp_path / ".exploration.json.part").write_text("{")
    assert explore_into(tmp_path, explored(*DEQUE), Machine(1), depth=1).depth == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["driver.lock", "exploration.json", "levels"]


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ExplorationError, match="not the folder of an exploration"):
        explore_into(tmp_path, explored(*DEQUE), Machine(1))
    assert (tmp_path / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("damage", ["states", "part", "left", "level", "link"])
def test_a_damaged_folder_is_named(tmp_path, damage):
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    what = explored(*SUBPARTITION) if damage == "left" else explored(*DEQUE)  # a deque leaves no drains
    explore_into(there, what, Machine(1), depth=2)
    if damage == "states":
        (there / "levels" / "00001" / "states" / "part-0.parquet").write_bytes(b"PAR1")
    elif damage == "part":
        (there / "levels" / "00002" / "states" / "part-0.parquet").unlink()
    elif damage == "left":
        shutil.rmtree(there / "levels" / "00002" / "left")
    elif damage == "level":
        (there / "levels" / "00001" / "level.json").write_text('{"states": "many"}')
    else:
        shutil.move(there / "levels", elsewhere)
        (there / "levels").symlink_to(elsewhere)
    with pytest.raises(ExplorationError, match=r"levels.* is (damaged|a link)"):
        explore_into(there, what, Machine(1))
    if damage == "link":
        assert len(list(elsewhere.iterdir())) == 3
