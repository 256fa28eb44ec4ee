"""`conformance explore --into`."""

from __future__ import annotations

import json

import pytest

from conformance import cli

SMALL = ["--component", "deque", "--scope", "elements=2"]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["explore", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_many_processes_write_what_one_writes(tmp_path, capsys):
    for name, more in (("one", []), ("many", ["--into", str(tmp_path / "levels"), "--workers", "2"])):
        assert run(*SMALL, *more, "--recognition", "hash", "--json", str(tmp_path / f"{name}.json")) == 0
    one, many = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "many"))
    assert many == one
    assert many["complete"]
    assert "hash of 128 bits" in capsys.readouterr().out


def test_a_command_goes_on_where_it_was_stopped(tmp_path, capsys):
    into = ["--into", str(tmp_path / "levels"), "--workers", "1"]
    assert run(*SMALL, *into, "--depth", "2") == 3
    assert f"What was explored is in {tmp_path / 'levels'}: the same command, " in capsys.readouterr().out  # one line
    assert run(*SMALL, *into) == 0
    assert run("--component", "deque", *into) == 2
    assert "is an exploration of deque on reference with elements=2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "2"], "--workers go with --into"),
        (["--scope", "elements=1"], "--scope elements is given twice"),
        (["--into", "levels", "--master", "local[2]"], "--master and --conf go with --runner spark"),
        (["--into", "levels", "--runner", "spark", "--conf", "cores"], "--conf cores: this is no setting of Spark"),
        (["--into", "levels", "--recognition", "exact"], "many processes have no common memory"),
        (["--into", "levels", "--implementation", "tests.hostile:Nobody"], "has no guard for tests.hostile:Nobody"),
    ],
)
def test_what_does_not_go_together_is_said(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert run(*SMALL, *arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
