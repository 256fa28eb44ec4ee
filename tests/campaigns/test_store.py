"""The Parquet copy of a campaign."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from conformance import cli
from conformance.campaigns import Inline, Processes, load, make_plan, start
from conformance.campaigns.store import SCHEMAS, write_store
from conformance.campaigns.waves import BLOCKS
from conformance.components import COMPONENTS
from conformance.engines import replay
from conformance.engines.replay import ReplayVerdict
from conformance.ports import find_implementation
from conformance.scenarios import SchemaError, decode_scenario
from tests.campaigns.edited import table_files

PLAN = make_plan("store", ["reference", "known-bug:B-01"], ["deque", "subpartition"], scenarios=60, block=30, budget=50)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "campaign"
    start(path, PLAN, Inline())
    write_store(path)
    return path


def table(folder, name):
    return pq.read_table(folder / "store" / f"{name}.parquet")


def test_the_tables_have_the_documented_schemas(folder):
    for name, schema in SCHEMAS.items():
        assert table(folder, name).schema.equals(schema)


def test_the_rows_add_up_to_the_result(folder):
    result = load(folder)
    rows = table(folder, "blocks").to_pylist()
    for one in result.implementations:
        for part in one.components:
            mine = [row for row in rows if (row["implementation"], row["component"]) == (one.name, part.component)]
            assert sum(row["scenarios"] for row in mine) == part.scenarios
            assert sum(row["steps"] for row in mine) == part.steps
    failures = table(folder, "failures").to_pylist()
    assert {row["implementation"] for row in failures} == {"known-bug:B-01"}
    found = result.implementations[1].components[1].findings
    assert sum(row["count"] for row in failures) == sum(one.count for one in found)


def test_a_scenario_in_a_table_replays(folder):
    row = table(folder, "failures").to_pylist()[0]
    scenario = decode_scenario(row["scenario"], COMPONENTS)
    assert replay(scenario, find_implementation(row["implementation"])).verdict is ReplayVerdict.FAILED


def test_a_finding_is_a_row_with_its_likely_cause(folder):
    result = load(folder)
    rows = table(folder, "findings").to_pylist()
    (part,) = (part for one in result.implementations for part in one.components if part.findings)
    by_id = sorted(rows, key=lambda row: row["id"])
    assert [(row["id"], row["count"], row["first"], row["steps"], row["observed"]) for row in by_id] == [
        (one.id, one.count, one.first, one.steps, one.observed) for one in part.findings
    ]
    assert len(rows) > 1
    assert all(row["found_steps"] >= row["steps"] for row in rows)
    assert {row["budget"] for row in rows} <= {None, PLAN.budget}
    causes = result.implementations[1].causes
    assert causes is not None
    for number, cause in enumerate(causes):
        mine = {(row["property"], row["class"], row["operation"]) for row in rows if row["cause"] == number}
        assert mine == {(one.property, one.failure_class.value, one.operation) for one in cause.findings}
    scenario = decode_scenario(rows[0]["scenario"], COMPONENTS)
    assert replay(scenario, find_implementation(rows[0]["implementation"])).verdict is ReplayVerdict.FAILED


def test_what_is_reduced_already_is_a_row_before_the_campaign_has_ended(folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "c")
    (there / "result.json").unlink()
    first, *others = sorted((there / "findings" / "1").glob("[!i]*.json"))
    first.unlink()
    write_store(there)
    rows = table(there, "findings").to_pylist()
    assert len(rows) == len(others)
    assert {row["cause"] for row in rows} == {None}


@pytest.mark.slow  # another campaign; the bytes of results are compared by default
def test_every_runner_leads_to_the_same_tables_but_for_the_time(folder, tmp_path):
    start(tmp_path / "c", PLAN, Processes(2))
    write_store(tmp_path / "c")
    for name in SCHEMAS:
        mine, other = table(folder, name), table(tmp_path / "c", name)
        assert mine.equals(other) or name == "seconds"
    rows = mine.to_pylist()
    assert [{**one, "seconds": 0} for one in rows] == [{**one, "seconds": 0} for one in other.to_pylist()]
    blocks, each = ([one for one in rows if (one["implementation"] is None) is whole] for whole in (True, False))
    assert len(blocks) == PLAN.number_of_blocks
    for block, some in zip(blocks, zip(each[::2], each[1::2], strict=True), strict=True):
        assert 0 < sum(one["seconds"] for one in some) < block["seconds"]
    assert not list((tmp_path / "c" / "store").glob(".*"))


def test_a_damaged_wave_leaves_no_half_of_a_table(tmp_path):
    start(tmp_path / "c", PLAN, Inline())
    (path,) = table_files(tmp_path / "c", BLOCKS)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SchemaError, match="the checksum is not that of the file"):
        write_store(tmp_path / "c")
    assert list((tmp_path / "c" / "store").iterdir()) == []


def test_the_command_writes_them_also_of_an_unfinished_campaign(folder, capsys):
    (folder / "result.json").unlink()
    with pytest.raises(SystemExit) as ended:
        cli.main(["campaign", "status", str(folder), "--store"])
    assert ended.value.code == 0
    assert str(folder / "store") in capsys.readouterr().out


def test_a_link_where_a_table_is_written_first_leads_nowhere(folder, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("of somebody else")
    copied = shutil.copytree(folder, tmp_path / "c")
    for name in SCHEMAS:
        (copied / "store" / f".{name}.parquet.part").symlink_to(theirs)
    write_store(copied)
    assert theirs.read_text() == "of somebody else"
    assert table(copied, "blocks").equals(table(folder, "blocks"))


def test_two_processes_may_write_the_tables_at_once(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "c")
    words = ["campaign", "status", str(copied), "--store"]
    program = f"from conformance.cli import main; main({words!r})"
    both = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [0, 0, 0], told
    assert table(copied, "blocks").equals(table(folder, "blocks"))
    assert not list((copied / "store").glob(".*"))
