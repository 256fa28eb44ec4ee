"""What an adapter does wrong is said of the adapter, and not of the engine."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from conformance.bridges.episodes import Episodes, episodes
from conformance.bridges.episodes import adapter as adapters
from conformance.bridges.episodes.adapter import Adapter
from conformance.ports import UnusableImplementation
from conformance.ports.episodes import EpisodesImplementation, Row
from tests.bridges.episodes.tiny import command


def speaking(folder: Path, says: str) -> Adapter:
    """An adapter that prints the same whatever it is asked for, but for a description if that is none."""
    described = says if says.startswith('{"name') else '{"name": "x"}'
    program = folder / "adapter.py"
    program.write_text(f"import sys\nprint({described!r} if sys.argv[1] == 'describe' else {says!r})", encoding="utf-8")
    return Adapter((sys.executable, "-S", "-E", str(program)))


def test_a_description_has_known_fields(tmp_path: Path) -> None:
    with pytest.raises(UnusableImplementation, match="describe"):
        _ = speaking(tmp_path, '{"name": "x", "colour": "red"}').description


def test_a_command_is_words(tmp_path: Path) -> None:
    adapter = speaking(tmp_path, '{"not": "words"}')
    with pytest.raises(UnusableImplementation, match="list of words"):
        adapter.start(tmp_path, tmp_path, 1)
    assert speaking(tmp_path, '["a", "b"]').start(tmp_path, tmp_path, 1) == [["a", "b"]]
    assert speaking(tmp_path, '[["a"], ["b"]]').start(tmp_path, tmp_path, 1) == [["a"], ["b"]]


@pytest.mark.parametrize(("says", "printed"), [("many", "'many'"), ("", "nothing")])
def test_a_checkpoint_is_a_number(tmp_path: Path, says: str, printed: str) -> None:
    asked = f"does not do 'checkpoint': it must print a number, and printed {printed}$"
    with pytest.raises(UnusableImplementation, match=asked):
        speaking(tmp_path, says).checkpoint(tmp_path)


def test_rows_are_lists_and_a_line_that_was_cut_is_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("[1, 2, 3]\n[1, 2, 4, 7]\n[1, 2", encoding="utf-8")
    adapter = speaking(tmp_path, json.dumps({"name": "x", "rows": "out/*"}))
    assert adapter.rows(tmp_path) == (Row(1, 2, 3), Row(1, 2, 4, 7))
    assert adapter.unreadable(tmp_path) == ""


@pytest.mark.parametrize("line", ["{}", "[1, 2]", '[1, 2, "3"]', "[1, 2, 3, 4, 5]", "\0[1, 2, 3]"])
def test_a_line_that_is_no_row_is_named_and_the_others_are_read(tmp_path: Path, line: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text(f'["k", 2, 3]\n{line}\n[1, 2, 4, 7]\n', encoding="utf-8")
    adapter = speaking(tmp_path, json.dumps({"name": "x", "rows": "out/*"}))
    assert adapter.rows(tmp_path) == (Row("k", 2, 3), Row(1, 2, 4, 7))
    assert adapter.unreadable(tmp_path) == (
        f"a line of its output is no row [key, count, id] or [key, count, id, batch]: {(line + chr(10)).encode()!r}"
    )


def test_a_command_that_fails_says_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(UnusableImplementation, match="status 1"):
        Adapter((sys.executable, "-S", "-c", "raise SystemExit('no')")).prepare(tmp_path, tmp_path)
    with pytest.raises(UnusableImplementation, match="there-is-no-such-program"):
        _ = Adapter(("there-is-no-such-program",)).description


SERVES = """import json, sys
if sys.argv[1] == "describe":
    print('{"name": "x", "checkpoints": true, "serves": true}')
else:
    for number, line in enumerate(sys.stdin):
        if json.loads(line)[1] == "end":
            sys.exit("enough")
        print(json.dumps(str(number)), flush=True)
"""


def test_one_process_can_answer_all_commands(tmp_path: Path) -> None:
    program = tmp_path / "adapter.py"
    program.write_text(SERVES, encoding="utf-8")
    adapter = Adapter((sys.executable, "-S", "-E", str(program)))
    assert [adapter.checkpoints(tmp_path) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UnusableImplementation, match="enough"):
        adapter.checkpoints(Path("end"))
    assert adapter.checkpoints(tmp_path) == 0
    assert adapter.seconds() >= 0
    adapter.close()


class _Ends:
    """A life that asks the adapter something when it is ended."""

    def __init__(self, adapter: Adapter, folder: Path) -> None:
        self.adapter, self.folder = adapter, folder

    def release(self) -> None:
        self.adapter.checkpoints(self.folder)


@pytest.mark.parametrize("asked", ["", "end"], ids=["answers", "has ended"])
def test_the_end_of_an_engine_leaves_no_process_even_if_the_last_question_fails(tmp_path: Path, asked: str) -> None:
    (tmp_path / "adapter.py").write_text(SERVES, encoding="utf-8")
    engine = Episodes((sys.executable, "-S", "-E", str(tmp_path / "adapter.py")))
    closed: list[str] = []
    engine._live = _Ends(engine._adapter, Path(asked or tmp_path))  # type: ignore[assignment]
    engine._own.callback(closed.append, "its folder")
    with pytest.raises(UnusableImplementation, match="enough") if asked else nullcontext():
        engine.close()
    assert (engine._adapter._server, engine._live, closed) == (None, None, ["its folder"])


def test_an_engine_is_found_by_its_command() -> None:
    found = episodes(" ".join(command("cut")))
    assert isinstance(found, EpisodesImplementation)
    assert found.describe().name == "tiny cut"
    assert list(found.components()) == ["episode"]
    with pytest.raises(UnusableImplementation, match="episodes:COMMAND"):
        episodes(" ")
    assert not Episodes(("x",)).capabilities


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"knobs": {"every": []}}, "the knob 'every' has no value"),
        ({"rows": "/out/*"}, "'rows' is no glob in the folder of the job"),
        ({"progress": "/out/*"}, "'progress' is no glob in the folder of the job"),
    ],
)
def test_a_description_that_makes_no_sense_is_the_fault_of_the_adapter(
    description: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UnusableImplementation, match=f"does not do 'describe': {said}"):
        _ = speaking(tmp_path, json.dumps({"name": "x", **description})).description


def test_a_command_has_a_word(tmp_path: Path) -> None:
    for says in ("[[]]", '[["a"], []]', "[]"):
        with pytest.raises(UnusableImplementation, match="list of words"):
            speaking(tmp_path, says).start(tmp_path, tmp_path, 1)


def test_rows_in_a_file_that_is_renamed_while_they_are_read_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: the engine was said to do what its adapter does not, since a sink had renamed a part."""
    adapter = speaking(tmp_path, json.dumps({"name": "x", "rows": "out/*"}))
    (tmp_path / "out").mkdir()
    for name in ("1", "2"):
        (tmp_path / "out" / name).write_text(f"[1, {name}, {name}]\n")
    read_bytes = Path.read_bytes

    def renamed_at_once(path: Path) -> bytes:
        if path.name == "2":
            path.rename(path.with_name("3"))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", renamed_at_once)
    assert adapter.rows(tmp_path) == (Row(1, 1, 1), Row(1, 2, 2))


def test_files_that_vanish_for_ever_are_the_fault_of_the_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = speaking(tmp_path, json.dumps({"name": "x", "rows": "out/*"}))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1").write_text("[1, 1, 1]\n")

    def vanished(path: Path) -> bytes:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_bytes", vanished)
    with pytest.raises(UnusableImplementation, match="vanished"):
        adapter.rows(tmp_path)


@pytest.mark.parametrize(
    ("writes", "said"), [("time.sleep(600)", "did not answer with a line within"), ("sys.exit(0)", "it has ended")]
)
def test_half_an_answer_is_none(writes: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: the suite waited for ever for the end of a line."""
    program = tmp_path / "adapter.py"
    program.write_text(
        "import sys, time\n"
        "if sys.argv[1] == 'describe':\n"
        '    print(\'{"name": "x", "serves": true}\')\n'
        "else:\n"
        "    sys.stdin.readline()\n"
        "    print('\"half', end='', flush=True)\n"
        f"    {writes}\n"
    )
    monkeypatch.setattr(adapters, "_SECONDS", 1.0)
    adapter = Adapter((sys.executable, "-S", "-E", str(program)))
    with pytest.raises(UnusableImplementation, match=said):
        adapter.rows(tmp_path)
    adapter.close()
