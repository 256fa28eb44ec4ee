"""Whatever the bytes of a file are, reading returns its content, or an error that names the file and the cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import cli
from conformance.components import COMPONENTS
from conformance.engines import load_known_failures
from conformance.engines.replay import read_scenario
from conformance.scenarios import Scenario, SchemaError, decode_scenario
from conformance.scenarios.reading import MOST_BYTES, MOST_DEPTH, Unreadable, decode_json, read_bytes
from tests.hostile import DEEP, bytes_of, mutations_of, read_or_told

CORPUS = Path(__file__).parents[1] / "corpus"
SCENARIO = (CORPUS / "B-41-chain.json").read_bytes()
KNOWN = b"""
[[failure]]
property = "priority-events-come-first"
component = "gate"
class = "reordered"
ticket = "OURS-1"
reason = "not mended yet"
scenario = "scenario.json"
"""
THOROUGH = settings(max_examples=150, deadline=None)

HOSTILE = {
    "nested": (b'{"schema": 3, "config": ' + DEEP, "lists and objects are nested more than 64 deep"),
    "brackets in a string": (b'{"schema": 3, "config": "' + DEEP + b'"}', "line 1, field"),
    "brackets in a string without end": (
        b'{"schema": 3, "config": "' + DEEP,
        "line 1, column 100026: this is not JSON",
    ),
    "a number that is too large": (
        b'{"schema": 3, "config": {"a": 1e999999999}}',
        "a number is larger than those of 64",
    ),
    "a long number": (b'{"schema": ' + b"9" * 5_000 + b"}", "a number has more than 19 digits"),
    "a number of 20 digits": (b'{"schema": 10000000000000000000}', "a number has more than 19 digits"),
    "UTF-16": (SCENARIO.decode().encode("utf-16"), "it is encoded as UTF-16); save it as UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + SCENARIO, "with a byte order mark); save it as UTF-8 without"),
    "Latin-1": ('{"schema": 3,\n "component": "\xe9"}'.encode("latin-1"), "line 2, column 16"),
    "half a character": (b'{"a": "\\ud800"}', "this is not JSON"),
    "no number": (b'{"schema": NaN}', "line 1, column 12: this is not JSON"),
    "nothing": (b"", "line 1, column 1: this is not JSON"),
}


@pytest.mark.parametrize("command", ["replay", "shrink"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_scenario_file_is_reported_in_words(command, what, tmp_path, capsys):
    file = tmp_path / "scenario.json"
    data, said = HOSTILE[what]
    file.write_bytes(data)
    with pytest.raises(SystemExit) as ended:
        cli.main([command, str(file)])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "scenario.json" in told
    assert said in told
    assert len(told) < 1_000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (KNOWN.replace(b'"OURS-1"', b"9" * 5_000), "a number has more than"),
        (KNOWN.replace(b'"OURS-1"', DEEP), "nested too deep"),
        (KNOWN.decode().encode("utf-16"), "it is encoded as UTF-16"),
        (KNOWN.replace(b"OURS", b"\xff"), "line 6, column 11: this is not TOML (byte 0xff is not valid in UTF-8)"),
        (KNOWN.replace(b"scenario.json", b"nul\\u0000"), "leads out of the folder of the list"),
        (KNOWN.replace(b"scenario.json", b"/dev/zero"), "leads out of the folder of the list"),
        (KNOWN.replace(b"scenario.json", b"x" * 5_000), "failure 1: its scenario"),
    ],
)
def test_a_hostile_list_of_known_failures_is_reported_in_words(data, said, tmp_path, capsys):
    (tmp_path / "known.toml").write_bytes(data)
    with pytest.raises(SystemExit) as ended:
        cli.main(
            ["check", "--component", "deque", "--scenarios", "1", "--known-failures", str(tmp_path / "known.toml")]
        )
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "known.toml" in told
    assert said in told


@THOROUGH
@given(bytes_of(SCENARIO))
def test_a_scenario_file_of_any_bytes_is_read_or_reported(tmp_path_factory, data):
    file = tmp_path_factory.getbasetemp() / "scenario.json"
    file.write_bytes(data)
    scenario, told = read_or_told(SchemaError, read_scenario, file)
    assert isinstance(scenario, Scenario) if scenario else told.startswith(str(file))


@THOROUGH
@given(mutations_of(json.loads(SCENARIO)))
def test_a_scenario_of_any_values_is_read_or_reported(document):
    scenario, told = read_or_told(SchemaError, decode_scenario, json.dumps(document, indent=1), COMPONENTS)
    assert isinstance(scenario, Scenario) if scenario else told.startswith("scenario")
    assert len(told) < 2_100


@THOROUGH
@given(bytes_of(KNOWN))
def test_a_list_of_known_failures_of_any_bytes_is_read_or_reported(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    (folder / "scenario.json").write_bytes((CORPUS / "B-G2.json").read_bytes())
    (folder / "known.toml").write_bytes(data)
    entries, told = read_or_told(SchemaError, load_known_failures, folder / "known.toml")
    assert entries is not None or "known.toml" in told


@given(st.binary(max_size=200))
def test_a_reduction_begins_anew_if_the_file_beside_it_is_none_of_ours(tmp_path_factory, data):
    from conformance.cli.one_scenario import _before

    file = tmp_path_factory.getbasetemp() / "short.json"
    for content in (data, DEEP):
        file.with_name(".short.json.reduction").write_bytes(content)
        assert _before(file, decode_scenario(SCENARIO.decode(), COMPONENTS)) == (0, 0)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_the_limits_are_those_that_are_stated(tmp_path):
    assert decode_json(nested(MOST_DEPTH), list)
    with pytest.raises(Unreadable, match="nested more than 64 deep"):
        decode_json(nested(MOST_DEPTH + 1), list)
    assert decode_json(b'["%s", 0.%s]' % (b"[1" * 10_000, b"1" * 40), list)
    assert decode_json(b"-9223372036854775808", int) == -(2**63)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(SchemaError, match=r"large\.json: the file is larger than 64 MiB"):
        read_bytes(large)
