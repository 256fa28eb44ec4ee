"""The folder of a campaign may come from a stranger or from a damaged disk: whatever is in it is checked or
reported."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.campaigns import (
    CampaignError,
    Names,
    causes_of,
    files,
    load,
    status,
)
from conformance.campaigns.block import BlockResult
from conformance.campaigns.campaign import finish
from conformance.campaigns.code import CodeLog
from conformance.campaigns.files import read
from conformance.campaigns.merge import merge
from conformance.campaigns.plan import Plan
from conformance.campaigns.seal import is_sealed, sealed
from conformance.campaigns.store import write_store
from conformance.components import COMPONENTS
from conformance.engines import Found
from conformance.reporting import campaign_verdicts, print_verdicts, status_lines
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.console import CarefulConsole
from conformance.scenarios import Scenario, SchemaError
from conformance.scenarios.names import as_file_name
from tests.campaigns.ended import BUG, CHECKSUM, PLAN, run
from tests.hostile import bytes_of, mutations_of, read_or_told

BLOCK = "subpartition/0/0.json"
THOROUGH = settings(max_examples=150, deadline=None)


def resealed(path: Path, change: Callable[[Any], None]) -> None:
    """Change a block as somebody does who knows how the checksum is computed."""
    block = json.loads(path.read_bytes())
    change(block)
    path.write_bytes(sealed(msgspec.convert(block, BlockResult)))


def tally(block: Any) -> Any:
    return block["tallies"][BUG]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda block: tally(block).update(scenarios=10**12), "1000000000000 scenarios, and the block has 30"),
        (lambda block: tally(block)["failures"][0].update(property="../../x"), "no property '../../x'"),
        (lambda block: tally(block)["failures"][0].update({"class": "bad luck"}), "no failure class 'bad luck'"),
        (lambda block: tally(block)["failures"][0].update(count=10**12), "failed in 1000000000000 of"),
        (lambda block: tally(block)["failures"][0]["scenario"].update(component="deque"), "a scenario of 'deque'"),
        (lambda block: tally(block)["failures"][0]["scenario"].update(config={"x": 1}), "unknown field `x`"),
        (lambda block: tally(block)["failures"][0]["scenario"].update(steps=[["x"]]), "has no step 'x'"),
        (lambda block: tally(block)["failures"][0].update(first=30), "failed first in scenario 30"),
        (lambda block: tally(block)["exercised"].update({"../x": 1}), "no property '../x'"),
        (lambda block: tally(block)["exercised"].update({"a-view-is-attached-once": 31}), "in 31 of 30 scenarios"),
        (lambda block: tally(block)["exercise"]["scenarios"].pop(), "differ in length"),
        (lambda block: block["tallies"].update({"../x": tally(block)}), "no implementation '../x'"),
        (lambda block: block["differences"][0].update(implementation="reference"), "that is compared 'reference'"),
        (lambda block: block["differences"][0].update(count=31), "31 differences in 30 scenarios"),
        (lambda block: block["block"].update(count=10**12), "no block subpartition-0 with scenarios 0 to 999999999999"),
        (lambda block: block["block"].update(component="../x"), "'../x' cannot be the name of a file"),
        (lambda block: block["block"].update(number=1, first=30), "it holds the block subpartition-1"),
        (lambda block: block.update(lost="it died"), "it is lost, and yet it has counts"),
    ],
)  # fmt: skip
def test_a_block_that_is_not_of_the_plan_is_not_added_up(folder, change, said, capsys):
    """Seen: `scenarios: 10**12` was added up as "conforms", and a property was a path out of the folder."""
    path = folder / "blocks" / BLOCK
    resealed(path, change)
    with pytest.raises(SchemaError, match=f"{BLOCK}: this cannot be a block of the campaign: .*{re.escape(said)}"):
        finish(folder, PLAN, Names())
    assert run("campaign", "status", str(folder)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data[:100], "line 1, column 101: this is not JSON"),
        (lambda data: data.replace(b'"closing_steps":', b'"closing_steps":1', 1), CHECKSUM),
        (lambda data: re.sub(rb'"checksum":"\w+",', b"", data), CHECKSUM),
        (lambda data: data.replace(b",", b", "), CHECKSUM),
        (lambda data: data + b"\n", CHECKSUM),
        (lambda data: data.replace(PLAN.digest.encode(), b"0" * 16), "a block of another plan"),
        (lambda data: data.replace(b'"closing_steps":', b'"closing_steps":-'), ">= 0"),
        (lambda data: data.replace(b'"schema":1,"tall', b'"schema":2,"tall'), "schema"),
        (lambda data: b"", "line 1, column 1: this is not JSON"),
    ],
)  # fmt: skip
def test_a_damaged_block_names_the_file_and_what_is_wrong(folder, spoil, said):
    path = folder / "blocks" / BLOCK
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(SchemaError, match=f"^{re.escape(str(path))}.*{said}.* Delete this file and .*result.json"):
        finish(folder, PLAN, Names())


@pytest.mark.parametrize("ended", [True, False])
def test_the_cure_of_a_damaged_block_works(folder, ended, capsys):
    before = (folder / "result.json").read_bytes()
    path = folder / "blocks" / BLOCK
    path.write_bytes(path.read_bytes()[:100])
    if not ended:
        (folder / "result.json").unlink()
    assert run("campaign", "status", str(folder)) == 2
    told = capsys.readouterr().err
    assert ("Delete this file and " in told) == ended
    path.unlink()
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


def test_a_result_is_compared_with_the_blocks_that_are_there(folder, capsys):
    (folder / "blocks" / "subpartition" / "0" / "1.json").unlink()
    assert run("campaign", "report", str(folder)) == 2
    assert "scenarios: 60, and the blocks have 30. Delete this file" in capsys.readouterr().err


def test_a_result_without_what_it_was_made_of_is_shown_with_a_remark(folder, capsys):
    """A result alone can be read, with the note that nothing was compared."""
    whole = (folder / "result.json").read_bytes()
    shutil.rmtree(folder / "findings")
    assert run("campaign", "report", str(folder)) == 0
    assert "There are no findings beside this result, so the scenarios, words and causes" in capsys.readouterr().err
    shutil.rmtree(folder / "blocks")
    assert run("campaign", "report", str(folder)) == 0
    assert "There are no blocks beside this result, so it was not compared with them." in capsys.readouterr().err
    (folder / "plan.json").unlink()
    assert run("campaign", "report", str(folder)) == 0
    assert "There is no plan.json beside this result, so it was not compared" in capsys.readouterr().err
    (folder / "result.json").write_bytes(whole.replace(b'"scenarios":60', b'"scenarios":10', 1))
    assert run("campaign", "report", str(folder)) == 2
    assert any(one in capsys.readouterr().err for one in (CHECKSUM, "of 10 scenarios"))


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


def test_the_cure_names_the_folder_also_if_that_is_under_one_called_blocks(whole, tmp_path):
    folder = tmp_path / "blocks" / "a" / "b"
    shutil.copytree(whole, folder)
    (folder / "result.json").write_text("{")
    with pytest.raises(SchemaError, match=f"again with: conformance campaign resume {folder}$"):
        load(folder)
    (folder / "blocks" / BLOCK).write_text("{")
    with pytest.raises(SchemaError, match=f"again with: conformance campaign resume {folder}$"):
        status(folder)


def test_a_block_of_another_place_is_reported(folder):
    (folder / "blocks" / BLOCK).rename(folder / "blocks" / "subpartition" / "0" / "7.json")
    with pytest.raises(SchemaError, match=r"7.json: .*it holds the block subpartition-0"):
        status(folder)


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


def test_a_block_of_any_bytes_is_added_up_or_reported(folder):
    path = folder / "blocks" / BLOCK
    document = json.loads(path.read_bytes())

    def made(data: Any) -> bytes:
        try:
            return sealed(msgspec.convert(data, BlockResult))
        except msgspec.ValidationError:
            return json.dumps(data).encode()

    @THOROUGH
    @given(bytes_of(path.read_bytes()) | mutations_of(document).map(made))
    def check(data):
        path.write_bytes(data)
        found, told = read_or_told(ERRORS, lambda: list(files.all_committed(folder, PLAN, COMPONENTS)))
        if found is None:
            assert f"{BLOCK}" in told
            return
        merge(found, COMPONENTS)
        now = status(folder)
        assert now.scenarios <= 180
        status_lines(now, folder)
        write_store(folder)

    check()


@given(st.binary(max_size=5), st.integers(0, 10**6))
def test_every_change_of_a_block_is_noticed(whole, put, at):
    data = (whole / "blocks" / BLOCK).read_bytes()
    assert is_sealed(data)
    at %= len(data)
    changed = data[:at] + put + data[at + 1 :]
    assert is_sealed(changed) == (changed == data)
