"""What is kept of the search for a known bug: the scenario in which it was found first."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from conformance.cli import cli
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.first_hits import FILE, first_hits_text, hit, read_first_hits
from conformance.engines.kill import hunt
from conformance.engines.search import seeds
from conformance.ports import find_known_bug
from conformance.scenarios import SchemaError

BUG = find_known_bug("B-D2")


def bugs(*arguments: object) -> int:
    done = CliRunner().invoke(cli, ["bugs", *map(str, arguments)], standalone_mode=False)
    assert done.exception is None
    status: int = done.return_value
    return status


def test_the_first_hit_is_the_first_scenario_of_the_search_in_which_the_bug_is_noticed():
    program = Program(COMPONENTS[BUG.component], BUG.build())
    seen = hunt(BUG, program, "a", 2000, look_on=0)
    texts = list(seeds("a", BUG.component, range(seen.scenarios)))
    assert len(texts) > 2, "a bug that is found at once shows nothing"
    assert seen.first_hit == texts[-1]
    assert [text for text in texts if hit(BUG, program, text) is not None] == [seen.first_hit]
    assert hit(BUG, program, seen.first_hit) in [failure.scenario for failure in seen.hits]


def test_a_bug_that_survives_has_no_first_hit():
    assert hunt(BUG, Program(COMPONENTS[BUG.component], BUG.build()), "a", 1).first_hit == ""


@pytest.mark.parametrize("hits", [{}, {"B-2": "0/deque/7", "B-1": '"\\ \u00e9\n/deque/0'}])
def test_what_is_written_is_read(tmp_path, hits):
    (tmp_path / FILE).write_text(first_hits_text(hits), encoding="utf-8", newline="\n")
    assert read_first_hits(tmp_path) == hits


def test_a_folder_without_the_file_has_no_first_hits_and_a_damaged_file_is_named(tmp_path):
    assert read_first_hits(tmp_path) == {}
    (tmp_path / FILE).write_text('"B-1" = 7\n')
    with pytest.raises(SchemaError, match=r"first_hits.toml: .*every entry must be a text"):
        read_first_hits(tmp_path)


def test_a_search_for_some_bugs_keeps_the_first_hits_of_the_others(tmp_path):
    (tmp_path / FILE).write_text(first_hits_text({"B-D1": "old", "B-D2": "old", "B-1": "old"}))
    assert bugs("B-D1", "B-D2", "--seed", "a", "--scenarios", 2000, "--corpus", tmp_path) == 0
    now = read_first_hits(tmp_path)
    assert now == {"B-1": "old", "B-D1": now["B-D1"], "B-D2": now["B-D2"]}
    assert [now[name].rpartition("/")[0] for name in ("B-D1", "B-D2")] == ["a/deque"] * 2
    assert {file.name for file in tmp_path.iterdir()} == {FILE, "B-D1.json", "B-D2.json"}


def test_a_bug_that_is_found_no_more_loses_its_first_hit(tmp_path):
    (tmp_path / FILE).write_text(first_hits_text({"B-D2": "old", "B-1": "old"}))
    assert bugs("B-D2", "--seed", "a", "--scenarios", 1, "--corpus", tmp_path) == 1
    assert read_first_hits(tmp_path) == {"B-1": "old"}
