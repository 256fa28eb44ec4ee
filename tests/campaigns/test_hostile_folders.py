"""The folder of a campaign may come from a stranger or from a damaged disk: whatever is in it is checked or
reported."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.campaigns import (
    CampaignError,
    Inline,
    Names,
    causes_of,
    load,
    resume,
    status,
)
from conformance.campaigns.campaign import finish
from conformance.campaigns.code import CodeLog
from conformance.campaigns.files import WAVE, WAVES, read
from conformance.campaigns.plan import Plan
from conformance.campaigns.rows import Row
from conformance.campaigns.seal import is_sealed, sealed
from conformance.campaigns.store import write_store
from conformance.campaigns.waves import BLOCKS, SUM, Wave
from conformance.components import COMPONENTS
from conformance.engines import Found
from conformance.reporting import campaign_verdicts, print_verdicts, status_lines
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.console import CarefulConsole
from conformance.scenarios import Scenario, SchemaError
from conformance.scenarios.names import as_file_name
from tests.campaigns.edited import change_block, change_sum, change_wave, sign, write_rows
from tests.campaigns.ended import BUG, CHECKSUM, PLAN, run
from tests.hostile import bytes_of, damaged, mutations_of, read_or_told

BLOCK_FILE = f"{WAVES}/0/{BLOCKS}/part-00000.parquet"
SUM_FILE = f"{WAVES}/0/{SUM}/part-00000.parquet"
WAVE_FILE = f"{WAVES}/0/{WAVE}"
THOROUGH = settings(max_examples=150, deadline=None)


LOST: dict[str, Any] = {
    "kind": "lost",
    "component": "subpartition",
    "block": 0,
    "first": 0,
    "scenarios": 30,
    "reason": "it died",
}


def tally(block: Any) -> Any:
    return block["tallies"][BUG]


def again(block: Any) -> None:
    """Turn the first block into the second one."""
    block["block"].update(number=1, first=30)
    for one in tally(block)["failures"]:
        one.update(first=None)


COUNTS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda block: tally(block).update(scenarios=10**12), "1000000000000 scenarios, and the WHAT has MOST"),
    (lambda block: tally(block)["failures"][0].update(property="../../x"), "no property '../../x'"),
    (lambda block: tally(block)["failures"][0].update({"class": "bad luck"}), "no failure class 'bad luck'"),
    (lambda block: tally(block)["failures"][0].update(count=10**12), "failed in 1000000000000 of"),
    (lambda block: tally(block)["failures"][0]["scenario"].update(component="deque"), "a scenario of 'deque'"),
    (lambda block: tally(block)["failures"][0]["scenario"].update(config={"x": 1}), "unknown field `x`"),
    (lambda block: tally(block)["failures"][0]["scenario"].update(steps=[["x"]]), "has no step 'x'"),
    (lambda block: tally(block)["failures"][0].update(first=60), "failed first in scenario 60"),
    (lambda block: tally(block)["exercised"].update({"../x": 1}), "no property '../x'"),
    (lambda block: tally(block)["exercised"].update({"a-view-is-attached-once": 61}), "in 61 of MOST scenarios"),
    (lambda block: tally(block)["exercise"]["scenarios"].pop(), "differ in length"),
    (lambda block: block["tallies"].update({"../x": tally(block)}), "no implementation '../x'"),
    (lambda block: block["differences"][0].update(implementation="reference"), "that is compared 'reference'"),
    (lambda block: block["differences"][0].update(count=61), "61 differences in MOST scenarios"),
]
"""What cannot have been counted in a block, nor in the sum of both."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((change, said.replace("WHAT", "block").replace("MOST", "30")) for change, said in COUNTS),
        (lambda block: tally(block)["failures"][0].update(first=30), "failed first in scenario 30"),
        (lambda block: block["block"].update(count=10**12), "no block subpartition-0 with scenarios 0 to 999999999999"),
        (lambda block: block["block"].update(component="../x"), "the plan has no block ../x-0"),
        (again, "the block subpartition-1 is there twice"),
        (lambda block: block["block"].update(number=2, first=60), "the plan has no block subpartition-2"),
        (lambda block: block.update(lost="it died"), "is lost, and yet it has counts"),
    ],
)  # fmt: skip
def test_a_block_that_is_not_of_the_plan_is_reported(folder, change, said, capsys):
    """Seen: `scenarios: 10**12` was added up as "conforms", and a property was a path out of the folder."""
    change_block(folder, change)
    assert run("campaign", "status", str(folder), "--store") == 2
    told = capsys.readouterr().err
    assert f"{WAVES}/0/{BLOCKS}: these cannot be the blocks of the wave: " in told
    assert said in told
    assert list((folder / "store").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((change, said.replace("WHAT", "sum").replace("MOST", "60")) for change, said in COUNTS),
        (lambda total: total["heads"][0].update(count=3), "3 blocks of subpartition with 60 scenarios, and the plan"),
        (lambda total: total["heads"][0].update(scenarios=90), "2 blocks of subpartition with 90 scenarios, and"),
        (lambda total: total["heads"][0].update(component="../x"), "the plan has no component '../x'"),
        (lambda total: total["heads"][0].update(block=0), "a row of the block subpartition-0 is in a sum"),
        (lambda total: total["heads"].append(total["heads"][0]), "counted twice"),
        (lambda total: total["heads"].append(LOST), "2 blocks of subpartition with 60 scenarios, and the plan has 1"),
        (lambda total: total["heads"].extend((LOST, LOST)), "counted twice"),
        (lambda total: total["heads"].append({**LOST, "first": 1}), "the sum has no lost block subpartition-0"),
        (lambda total: total["heads"].append({**LOST, "block": 2, "first": 60}), "no lost block subpartition-2"),
        (lambda total: tally(total).update(steps=1), "and wave.json has"),
        (lambda total: total["tallies"].pop(BUG), "and wave.json has"),
    ],
)  # fmt: skip
def test_a_sum_that_is_not_of_the_plan_is_not_believed(folder, change, said, capsys):
    change_sum(folder, change)
    with pytest.raises(SchemaError, match=f"{SUM}: this cannot be the sum of the blocks: .*{re.escape(said)}"):
        finish(folder, PLAN, Names())
    for command in ("status", "report"):
        assert run("campaign", command, str(folder)) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda block: tally(block).update(closing_steps=1),
        lambda block: tally(block)["failures"][0].update(observed="nothing"),
        lambda block: block["differences"].pop(),
        lambda block: block["tallies"].pop(BUG),
    ],
)
def test_a_sum_is_that_of_the_blocks(folder, change, capsys):
    """What could be a block of the plan is added up again, and compared."""
    change_block(folder, change)
    assert run("campaign", "status", str(folder), "--store") == 2
    assert f"{WAVES}/0/{SUM}: this is not what the blocks add up to. Delete the folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda wave: wave.update(number=1), "it is the wave 1"),
        (lambda wave: wave.update(first=2), "the plan has no wave of the blocks from 2 to 2"),
        (lambda wave: wave.update(until=3), "the plan has no wave of the blocks from 0 to 3"),
        (lambda wave: wave.update(until=1), "it has 2 blocks, and ends after 1"),
        (lambda wave: wave["totals"].update(scenarios=10**12), "this cannot be the sum of the blocks"),
        (lambda wave: wave["sum"].clear(), "it names no files"),
        (lambda wave: wave["sum"][0].update(name="../../x"), "'../../x' cannot be the name of a file"),
        (lambda wave: wave["sum"][0].update(sha256="0"), CHECKSUM),
        (lambda wave: wave["sum"][0].update(bytes=1), CHECKSUM),
        (lambda wave: wave.update(plan="0" * 16), "this is a wave of another plan"),
    ],
)
def test_a_wave_that_is_not_of_the_plan_is_not_believed(folder, change, said, capsys):
    change_wave(folder, change)
    for command in ("status", "report"):
        assert run("campaign", command, str(folder)) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data[:100], "line 1, column 101: this is not JSON"),
        (lambda data: data.replace(b'"until":2', b'"until":1', 1), CHECKSUM),
        (lambda data: re.sub(rb'"checksum":"\w+",', b"", data), CHECKSUM),
        (lambda data: data.replace(b",", b", "), CHECKSUM),
        (lambda data: data + b"\n", CHECKSUM),
        (lambda data: data.replace(PLAN.digest.encode(), b"0" * 16), "a wave of another plan"),
        (lambda data: data.replace(b'"until":', b'"until":-'), ">= 0"),
        (lambda data: data.replace(b'"schema":1', b'"schema":2'), "schema"),
        (lambda data: b"", "line 1, column 1: this is not JSON"),
    ],
)  # fmt: skip
def test_a_damaged_wave_names_the_file_and_what_is_wrong(folder, spoil, said):
    path = folder / WAVE_FILE
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(
        SchemaError, match=f"^{re.escape(str(path))}.*{said}.* Delete the folder .*/0 and .*result.json"
    ):
        finish(folder, PLAN, Names())


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data[:100], "this is no Parquet file of a campaign"),
        (lambda data: b"", "this is no Parquet file of a campaign"),
        (lambda data: data + b"\n", "this is no Parquet file of a campaign"),
        (lambda data: parquet(pa.table({"x": [1]})), "it has other columns than a table of a campaign"),
        (lambda data: parquet(changed(data, "kind", ["x"] * 20)), "Invalid enum value 'x'"),
        (lambda data: parquet(changed(data, "scenarios", [-1] * 20)), ">= 0"),
        (lambda data: parquet(changed(data, "exercise", ["{"] * 20)), "the column exercise of a row"),
        (lambda data: parquet(changed(data, "count", ["x"] * 20)), "int"),
        (lambda data: parquet(changed(data, "reason", ["x" * (9 << 20)] * 20)), "a text in it has 9,437,184 bytes"),
    ],
)
def test_a_damaged_table_names_the_file_and_what_is_wrong(folder, spoil, said, signed):
    for name in (SUM_FILE, BLOCK_FILE):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(spoil(before))
        if signed:
            sign(folder, Path(name).parent.name)
        reader = partial(finish, folder, PLAN, Names()) if name == SUM_FILE else partial(write_store, folder)
        with pytest.raises(SchemaError, match=f"{WAVES}/0/.*{said if signed else CHECKSUM}.* Delete the folder "):
            reader()
        (folder / name).write_bytes(before)
        sign(folder, Path(name).parent.name)


def parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def changed(data: bytes, column: str, values: list[Any]) -> pa.Table:
    table = pq.read_table(io.BytesIO(data))
    return table.set_column(table.schema.get_field_index(column), column, pa.array(values[: table.num_rows]))


@pytest.mark.parametrize("ended", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [WAVE_FILE, SUM_FILE])
def test_the_cure_of_a_damaged_wave_works(folder, ended, name, capsys):
    before = (folder / "result.json").read_bytes()
    path = folder / name
    path.write_bytes(path.read_bytes()[:100])
    if not ended:
        (folder / "result.json").unlink()
    assert run("campaign", "status", str(folder)) == 2
    told = capsys.readouterr().err
    assert (f"Delete the folder {folder / WAVES / '0'} and " in told) == ended
    shutil.rmtree(folder / WAVES / "0")
    (folder / "result.json").unlink(missing_ok=True)
    run(*shlex.split(told.rpartition("again with: conformance ")[2]), "--runner", "inline")
    assert (folder / "result.json").read_bytes() == before


def test_a_damaged_result_is_added_up_again(folder, capsys):
    before = (folder / "result.json").read_bytes()
    (folder / "result.json").write_bytes(before[:1_000])
    assert run("campaign", "report", str(folder)) == 2
    told = capsys.readouterr().err
    assert "result.json, line 1, column 1001: this is not JSON" in told
    (folder / "result.json").unlink()
    run(*shlex.split(told.rpartition("again with: conformance ")[2]), "--runner", "inline")
    assert (folder / "result.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda causes: causes.pop(), "do not name each of its findings once"),
        (lambda causes: causes.append(causes[0]), "do not name each of its findings once"),
        (lambda causes: causes[0]["findings"][0].update(operation="x"), "do not name each of its findings once"),
        (lambda causes: causes[0]["why"].append("It is so."), "has 2 findings and 2 reasons"),
        (lambda causes: causes[0]["resembles"].append("[bold]../x"), "cannot be the name of a file"),
    ],
)
def test_causes_that_cannot_be_those_of_the_findings_are_reported(folder, change, said):
    result = json.loads((folder / "result.json").read_bytes())
    change(result["implementations"][1]["causes"])
    (folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(SchemaError, match=re.escape(said)):
        load(folder)


def test_the_result_of_an_earlier_version_has_a_cause_for_each_finding(folder):
    result = json.loads((folder / "result.json").read_bytes())
    grouped = causes_of(load(folder).implementations[1])
    shutil.rmtree(folder / "findings")  # which earlier versions did not write
    for one in result["implementations"]:
        del one["causes"]
    del result["checksum"]
    (folder / "result.json").write_text(json.dumps(result))
    causes = causes_of(load(folder).implementations[1])
    assert [len(cause.found) for cause in causes] == [1] * len(causes)
    assert {one for cause in causes for one in cause.found} == {one for cause in grouped for one in cause.found}


def test_a_result_is_compared_with_the_waves_that_are_there(folder, capsys):
    shutil.rmtree(folder / WAVES / "0")
    assert run("campaign", "report", str(folder)) == 2
    assert "scenarios: 60, and the blocks have 0. Delete this file" in capsys.readouterr().err


@pytest.mark.slow  # three reports of a campaign
def test_a_result_without_what_it_was_made_of_is_shown_with_a_remark(folder, capsys):
    """A result alone can be read, with the note that nothing was compared."""
    whole = (folder / "result.json").read_bytes()
    shutil.rmtree(folder / "findings")
    assert run("campaign", "report", str(folder)) == 0
    assert "There are no findings beside this result, so the scenarios, words and causes" in capsys.readouterr().err
    shutil.rmtree(folder / WAVES)
    assert run("campaign", "report", str(folder)) == 0
    assert "There are no waves beside this result, so it was not compared with them." in capsys.readouterr().err
    (folder / "plan.json").unlink()
    assert run("campaign", "report", str(folder)) == 0
    assert "There is no plan.json beside this result, so it was not compared" in capsys.readouterr().err
    (folder / "result.json").write_bytes(whole.replace(b'"scenarios":60', b'"scenarios":10', 1))
    assert run("campaign", "report", str(folder)) == 2
    told = capsys.readouterr().err
    assert any(one in told for one in (CHECKSUM, "of 10 scenarios"))


@pytest.mark.parametrize("name", ["plan.json", "code.json"])
def test_a_damaged_plan_cannot_be_made_up(folder, name, capsys):
    (folder / name).write_text("{")
    (folder / "result.json").unlink()
    assert run("campaign", "resume", str(folder), "--runner", "inline") == 2
    assert "Take it from a copy of the folder, or start the campaign again" in capsys.readouterr().err


def test_a_result_writes_nothing_outside_its_folder(folder, tmp_path, capsys):
    result = json.loads((folder / "result.json").read_bytes())
    result["implementations"][1]["components"][0]["findings"][0]["property"] = "../../../x"
    (folder / "result.json").write_text(json.dumps(result))
    before = sorted(tmp_path.rglob("*"))
    assert run("campaign", "report", str(folder)) == 2
    assert "'../../../x' cannot be the name of a file" in capsys.readouterr().err
    assert run("campaign", "resume", str(folder), "--runner", "inline") == 2
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\x00", "a\n", "-x", "x" * 300, "C:x"]
)
def test_a_name_that_leads_elsewhere_is_not_part_of_a_path(name):
    with pytest.raises(SchemaError, match="cannot be the name of a file"):
        as_file_name(name)


def test_every_path_that_holds_a_name_is_checked():
    scenario = Scenario("subpartition", COMPONENTS["subpartition"].configs[0], ())
    with pytest.raises(SchemaError, match="cannot be the name of a file"):
        report_folder_name("x", Found(("../../x", "lost", "poll"), "", "", scenario, 1))
    for one in COMPONENTS.values():
        assert as_file_name(one.name) == one.name
        assert all(as_file_name(judged.slug) for judged in one.properties)


def test_the_cure_names_the_folder_also_if_that_is_under_one_called_waves(whole, tmp_path):
    folder = tmp_path / "waves" / "a" / "b"
    shutil.copytree(whole, folder)
    (folder / "result.json").write_text("{")
    with pytest.raises(SchemaError, match=f"again with: conformance campaign resume {folder}$"):
        load(folder)
    (folder / WAVE_FILE).write_text("{")
    with pytest.raises(SchemaError, match=f"again with: conformance campaign resume {folder}$"):
        status(folder)


def test_a_wave_of_another_place_is_reported(folder):
    (folder / WAVES / "0").rename(folder / WAVES / "7")
    with pytest.raises(SchemaError, match=r"7/wave.json: .*it is the wave 0"):
        status(folder)
    change_wave(folder, lambda wave: wave.update(number=7), 7)
    assert status(folder).blocks == 2
    (folder / "result.json").unlink()
    assert resume(folder, Inline()).plan == PLAN


# ---- whatever the bytes are ------------------------------------------------------------------------------------------
ERRORS = (CampaignError, SchemaError)


@pytest.mark.parametrize(("name", "kind"), [("plan.json", Plan), ("code.json", CodeLog), ("result.json", None)])
def test_a_file_of_any_bytes_is_read_or_reported(name, kind, whole, tmp_path):
    document = (whole / name).read_bytes()

    def reading(path: Path) -> object:
        return load(path.parent) if kind is None else read(path, kind)

    @THOROUGH
    @given(bytes_of(document) | mutations_of(json.loads(document)).map(lambda one: json.dumps(one).encode()))
    def check(data):
        (tmp_path / name).write_bytes(data)
        found, told = read_or_told(ERRORS, reading, tmp_path / name)
        assert found is not None or name in told
        if isinstance(found, Plan):
            assert found.digest
            assert found.number_of_blocks is None or found.number_of_blocks > 0
            next(found.blocks())
        elif kind is None and found is not None:
            print_verdicts(CarefulConsole(file=io.StringIO()), campaign_verdicts(load(tmp_path)), everything=True)

    check()


def test_a_wave_of_any_bytes_is_read_or_reported(folder):
    path = folder / WAVE_FILE
    document = json.loads(path.read_bytes())

    def made(data: Any) -> bytes:
        try:
            return sealed(msgspec.convert(data, Wave))
        except msgspec.ValidationError:
            return json.dumps(data).encode()

    @THOROUGH
    @given(bytes_of(path.read_bytes()) | mutations_of(document).map(made))
    def check(data):
        path.write_bytes(data)
        found, told = read_or_told(ERRORS, status, folder)
        assert found is not None or f"{WAVES}/0" in told
        if found is not None:
            assert found.scenarios <= 180
            status_lines(found, folder)
            read_or_told(ERRORS, write_store, folder)

    check()


@pytest.mark.parametrize("table", [SUM, BLOCKS])
def test_a_table_of_any_rows_is_read_or_reported(folder, table):
    rows = [{name: one for name, one in row.items() if one is not None} for row in pq.read_table(
        folder / (SUM_FILE if table == SUM else BLOCK_FILE)).to_pylist()]  # fmt: skip

    @THOROUGH
    @given(mutations_of(rows))
    def check(data):
        try:
            write_rows(folder, table, msgspec.convert(data, list[Row]))
        except (msgspec.ValidationError, OverflowError, UnicodeEncodeError, pa.ArrowException):
            return  # no Parquet file has that
        found, told = read_or_told(ERRORS, status, folder)
        assert found is not None or f"{WAVES}/0/{SUM}" in told
        if found is not None:
            assert found.scenarios <= 180
            status_lines(found, folder)
            store, told = read_or_told(ERRORS, write_store, folder)
            assert store is not None or f"{WAVES}/0" in told

    check()


@pytest.mark.parametrize("table", [SUM, BLOCKS])
def test_a_table_of_any_bytes_is_read_or_reported(folder, table):
    path = folder / (SUM_FILE if table == SUM else BLOCK_FILE)

    @THOROUGH
    @given(damaged(path.read_bytes()))
    def check(data):
        path.write_bytes(data)
        sign(folder, table)
        read_or_told(ERRORS, status, folder)
        read_or_told(ERRORS, write_store, folder)

    check()


@given(st.binary(max_size=5), st.integers(0, 10**6))
def test_every_change_of_a_wave_is_noticed(whole, put, at):
    data = (whole / WAVE_FILE).read_bytes()
    assert is_sealed(data)
    at %= len(data)
    changed = data[:at] + put + data[at + 1 :]
    assert is_sealed(changed) == (changed == data)


# ---- links that lead out of the folder -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("link", "command"),
    [
        ("waves", "reduce"), ("waves", "resume"), ("findings", "resume"), ("evidence", "resume"),
        ("evidence/0", "resume"), ("report", "report"), ("report/index.html", "report"),
    ],
)  # fmt: skip
def test_nothing_is_deleted_or_written_through_a_link(link, command, folder, tmp_path, capsys):
    """Seen: `reduce` deleted all folders that a stranger's `waves` led to, and `report` wrote where no file was."""
    theirs = tmp_path / "theirs"
    for name in ("thesis/.git/config", "thesis/.draft.part", "0/thesis.tex", "episode-0000/.old/log"):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_text("of somebody else")
    before = sorted((one, one.is_file() and one.read_bytes()) for one in theirs.rglob("*"))
    if command == "resume":
        (folder / "result.json").unlink()
    shutil.rmtree(folder / link, ignore_errors=True)
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(theirs if link != "report/index.html" else theirs / "new.html")
    assert run("campaign", command, str(folder), *(["--runner", "inline"] if command != "report" else [])) == 2
    assert "is a link out of the folder of the campaign" in capsys.readouterr().err
    assert sorted((one, one.is_file() and one.read_bytes()) for one in theirs.rglob("*")) == before
