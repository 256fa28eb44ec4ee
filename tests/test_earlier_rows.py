"""`--earlier`: known bugs and legal variants of which nothing has changed are not searched for again."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance.cli import cli, known_bugs, legal_variants
from conformance.scenarios import SchemaError

FEW = ("--component", "deque", "--scenarios", "50")
COMMANDS = {"bugs": ("--reduced", "0"), "variants": ()}
"""With what is fast about each."""


@pytest.fixture
def searched(monkeypatch):
    """The names that were searched for, of all calls of the two commands."""
    names: list[str] = []
    for module, function in ((known_bugs, "matrix"), (legal_variants, "try_variants")):
        real = getattr(module, function)

        def noting(some, *others, real=real):
            names.extend(some)
            return real(some, *others)

        monkeypatch.setattr(module, function, noting)
    return names


def run(command: str, *arguments: object) -> int:
    words = [command, *COMMANDS[command], *map(str, arguments)]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value)


def edit(file: Path, command: str, change) -> None:
    document = json.loads(file.read_text())
    for row in document[command]:
        change(row)
    file.write_text(json.dumps(document))


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_again_searches_for_nothing_and_writes_the_same_bytes(tmp_path, searched, command, into):
    kept = ("--into", tmp_path / "works") if into else ()
    pages, files = [tmp_path / "1.md", tmp_path / "2.md"], [tmp_path / "1.json", tmp_path / "2.json"]
    assert run(command, *FEW, "--json", files[0], "--report", pages[0]) == 0
    assert searched
    searched.clear()
    assert run(command, *FEW, "--earlier", files[0], "--json", files[1], "--report", pages[1], *kept) == 0
    assert searched == []
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_that_depends_on_something_else_is_made_anew(tmp_path, searched, command):
    file, page = tmp_path / "one.json", tmp_path / "one.md"
    run(command, *FEW, "--json", file)
    (first, *rest) = [row["id"] for row in json.loads(file.read_text())[command]]
    searched.clear()

    def of_other_code(row):
        if row["id"] == first:
            row.update(found_with="0123456789abcdef", summary="of earlier")

    edit(file, command, of_other_code)
    assert run(command, *FEW, "--earlier", file, "--json", file, "--report", page) == 0
    assert searched == [first]
    assert "of earlier" not in file.read_text()
    assert [row["id"] for row in json.loads(file.read_text())[command]] == [first, *rest], "in the order of the page"
    assert "Tried with other code" not in page.read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_not_asked_for_stays_and_is_marked_if_it_has_changed(tmp_path, searched, command):
    file, page = tmp_path / "one.json", tmp_path / "one.md"
    run(command, "--component", "persister", "--scenarios", "50", "--json", file)
    there = [row["id"] for row in json.loads(file.read_text())[command]]
    searched.clear()
    run(command, *FEW, "--earlier", file, "--json", file, "--report", page)
    rows = [row["id"] for row in json.loads(file.read_text())[command]]
    assert sorted(rows) == sorted([*there, *searched]), "those of both components"
    assert "Tried with other code" not in page.read_text()
    searched.clear()
    run(command, "--component", "deque", "--scenarios", "51", "--earlier", file, "--report", page)
    assert not set(searched) & set(there)
    assert searched
    assert f"Tried with other code or other options than the rest: {len(there)} " in page.read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_an_earlier_row_has_the_words_of_today(tmp_path, searched, command):
    file = tmp_path / "one.json"
    run(command, *FEW, "--json", file)
    before = file.read_bytes()
    edit(file, command, lambda row: row.update(summary="It was called otherwise."))
    searched.clear()
    run(command, *FEW, "--earlier", file, "--json", file)
    assert searched == []
    assert file.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_rows_of_what_is_gone_are_left_out(tmp_path, searched, command):
    file = tmp_path / "one.json"
    run(command, *FEW, "--json", file)
    edit(file, command, lambda row: row.update(id=f"{row['id']}-gone"))
    run(command, *FEW, "--earlier", file, "--json", file)
    assert not [row for row in json.loads(file.read_text())[command] if row["id"].endswith("-gone")]


def test_the_first_hits_of_what_was_not_searched_for_stay(tmp_path, searched):
    file, corpus = tmp_path / "one.json", tmp_path / "corpus"
    run("bugs", *FEW, "--json", file, "--corpus", corpus)
    before = {one.name: one.read_bytes() for one in corpus.iterdir()}
    assert before
    searched.clear()
    run("bugs", *FEW, "--earlier", file, "--corpus", corpus)
    assert searched == []
    assert {one.name: one.read_bytes() for one in corpus.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "--earlier takes what the same command has written with --json"),
        ('{"schema": 1}', "it has no field 'variants'"),
        ('{"schema": 1, "bugs": []}', "it has no field 'variants'"),
        ('{"schema": 2, "variants": []}', "schema is 2, and this version reads 1"),
        ('{"schema": 1, "variants": [{"id": 1}]}', "$.variants[0].id"),
        ('{"schema": 1, "variants": [', "this is not JSON"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(tmp_path, text, says):
    file = tmp_path / "earlier.json"
    file.write_text(text)
    with pytest.raises(SchemaError) as raised:
        run("variants", *FEW, "--earlier", file)
    assert says in str(raised.value)
    assert str(raised.value).startswith(str(file))


def test_a_name_that_is_no_id_cannot_be_found_in_earlier_rows(tmp_path):
    file = tmp_path / "earlier.json"
    file.write_text('{"schema": 1, "variants": []}')
    name = "tests.ports.foreign_variants:COUNTS_THE_END"
    with pytest.raises(click.UsageError, match=f"{name} is no id of a catalogue"):
        run("variants", name, "--earlier", file)
