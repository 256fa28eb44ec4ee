"""What counts in the folder of a campaign, what cannot be of its plan, and what is removed: without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.campaigns import Block, CampaignError, Names, files, kept_works, make_plan, waves
from conformance.campaigns.block import encode, encode_tally
from conformance.campaigns.checking import Counted, _wrong
from conformance.campaigns.code import Code
from conformance.campaigns.kept_works import Folder
from conformance.campaigns.plan import named
from conformance.components import COMPONENTS
from conformance.engines.tally import Failure, Tally
from conformance.scenarios import Scenario, SchemaError

DEQUE = COMPONENTS["deque"]
PLAN = make_plan("c", ["reference"], ["deque"], scenarios=11, block=5)


def made(folder: Path, *names: str) -> Path:
    """A wave that is being made, with these tables and with what a runner left beside them."""
    home = waves.made(folder, 0)
    for name in names:
        (home / name / "_temporary").mkdir(parents=True)
        for path in ("_temporary/part.parquet", ".part.parquet.crc", "part.parquet"):
            (home / name / path).write_bytes(b"rows")
    return home


def in_folder(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


def wave() -> waves.Wave:
    return waves.Wave(PLAN.digest, 0, 0, 1, waves.Totals(blocks=1))


def test_a_wave_counts_with_its_tables_and_nothing_else(tmp_path):
    first, second = (made(tmp_path, "blocks", "sum") for _ in range(2))
    place = waves.home_of(tmp_path, 0)
    (place / "blocks").mkdir(parents=True)  # somebody has deleted its file
    (place / "blocks" / "old.parquet").write_bytes(b"rows")
    assert waves.uncounted(tmp_path) == sorted([place, first, second])
    committed = waves.commit(tmp_path, first, wave())
    newest = waves.newest(tmp_path, PLAN)
    assert newest is not None
    assert replace(newest, checksum="") == committed
    assert in_folder(place / "blocks") == in_folder(place / "sum") == ["part.parquet"]
    assert waves.uncounted(tmp_path) == [second]
    waves.tidy(tmp_path)
    assert in_folder(tmp_path / "waves") == ["0"]


def test_a_wave_without_a_sum_is_none(tmp_path):
    home = made(tmp_path, "blocks", "sum")
    (home / "sum" / "part.parquet").unlink()
    waves.commit(tmp_path, home, wave())
    with pytest.raises(SchemaError, match="it names no files"):
        waves.read_wave(tmp_path, PLAN, 0)


def test_what_was_incomplete_when_works_were_stopped_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_works, "code_by_names", lambda *names: Code({}, {}))
    Folder(tmp_path, "squares", Names())
    parts = [tmp_path / ".plan.json.part", tmp_path / files.RESULTS / ".a.json.part"]
    kept = tmp_path / files.RESULTS / "a.json"
    for path in (*parts, kept):
        path.write_bytes(b"{")
    Folder(tmp_path, "squares", Names())
    assert [path.exists() for path in (*parts, kept)] == [False, False, True]


def test_the_last_block_of_a_plan_may_have_one_scenario():
    assert [PLAN.has(Block("deque", number, 5 * number, 5)) for number in range(-1, 3)] == [False, True, True, False]
    assert PLAN.has(Block("deque", 2, 10, 1))
    assert not PLAN.has(Block("deque", 3, 15, 0))
    assert not make_plan("c", ["reference"], ["deque"], scenarios=10, block=5).has(Block("deque", 2, 10, 0))


@pytest.mark.parametrize("what", ["scenarios", "steps", "minutes", "block", "scenario_seconds"])
def test_a_plan_of_nothing_is_refused(what):
    goal: dict[str, Any] = {} if what in ("steps", "minutes") else {"scenarios": 5}
    with pytest.raises(CampaignError, match=f"{what} must be more than 0, found 0"):
        make_plan("c", ["reference"], ["deque"], **{**goal, what: 0})


def test_a_known_bug_that_is_named_beside_all_of_its_component_is_there_once():
    every = named(["known-bugs:deque"])
    assert named(["known-bugs:deque", every[0]]) == (*every[1:], every[0])
    assert named([every[0], "known-bugs:deque", "known-bugs:deque"]) == every


def test_what_a_block_has_counted_is_compared_with_its_component():
    ran = Counted("the block", DEQUE, range(5), 5, False)
    tally = Tally(scenarios=5)
    scenario = Scenario("deque", DEQUE.configs[0], ())
    tally.failures[DEQUE.properties[0].slug, "lost", "poll"] = Failure(scenario, "this", "that")
    record = encode_tally(tally)
    (one,) = record.failures
    assert list(_wrong(record, ran, COMPONENTS)) == []
    file = replace(encode(scenario), config={"interleaving": 7})
    for other, words in (
        (replace(one, failure_class="odd"), "the plan has no failure class 'odd'"),
        (replace(one, scenario=file), "the configuration of a scenario: "),
        (replace(one, scenario=replace(file, component="gate")), "a scenario of 'gate' is in a block of deque"),
    ):
        with pytest.raises(ValueError, match=words):
            list(_wrong(replace(record, failures=(other,)), ran, COMPONENTS))
