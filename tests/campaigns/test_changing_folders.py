"""A folder that changes while it is read ends a command with a message, wherever the reading is just then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import cli
from conformance.campaigns import Inline, make_plan, start
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, USAGE, VIOLATION
from tests.strange_states import state


def _become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "replaced": lambda path: path.write_bytes(b"{}\n"),
    "a folder": _become_a_folder,
}
MOST = 60
"""More files than any of the commands opens."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changing")
    start(folder / "c", make_plan("c", ["reference"], ["deque"], scenarios=40, block=20, budget=0), Inline())
    (folder / "s").mkdir()
    state(folder / "s")
    return folder


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "command", [("campaign", "status", "c"), ("campaign", "report", "c"), ("audit", "s")], ids=" ".join
)
def test_a_folder_that_changes_while_it_is_read_is_no_error_of_the_suite(command, change, whole, tmp_path, monkeypatch):
    """Just before the first file is opened, or the second, and so on, all files of the folder are changed."""
    really = os.open
    for number in range(1, MOST):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        left = number

        def changing(path, *more, folder=folder, **options):
            nonlocal left
            if str(path).startswith(command[-1] + os.sep):
                left -= 1
                if left == 0:
                    for one in sorted((folder / command[-1]).rglob("*")):
                        if one.is_file():
                            CHANGES[change](one)
            return really(path, *more, **options)

        with monkeypatch.context() as patched:
            patched.chdir(folder)
            patched.setattr(os, "open", changing)
            with pytest.raises(SystemExit) as ended:
                cli.main(list(command))
        assert ended.value.code in (CONFORMS, VIOLATION, USAGE, INCONCLUSIVE), (number, ended.value.code)
        if left > 0:
            break
    assert 1 < number < MOST - 1
