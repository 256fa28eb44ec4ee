"""The test in a bug report folder runs where the folder lies, and says on another machine what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check, replay
from conformance.ports import find_implementation
from conformance.reporting import Report, write_bug_report
from conformance.reporting.reproducer import VARIABLE

BUG = "known-bug:B-88"
ADAPTER = f"""
from pathlib import Path
from conformance.ports import find_implementation
assert Path("settings.txt").exists()  # it runs where its command was run
def make():
    return find_implementation({BUG!r})
"""
PROGRAM = f"""
import sys
from conformance.bridges.jsonl.serve import serve
from conformance.ports import find_implementation
serve(find_implementation({BUG!r}), sys.stdin.buffer, sys.stdout.buffer)
"""
PROGRAM_NAME = f"jsonl:{sys.executable} program.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an adapter, a program, and bug reports of both in folders below it."""
    home = tmp_path_factory.mktemp("project")
    for name, text in (("my_adapter.py", ADAPTER), ("program.py", PROGRAM), ("settings.txt", "")):
        (home / name).write_text(text)
    bug = find_implementation(BUG)
    found = check(Program(COMPONENTS["subpartition"], bug), 30, "0", budget=50).found[0]
    seen = replay(found.scenario, bug)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for name in ("my_adapter:make", PROGRAM_NAME):
            write_bug_report(Path("bugs") / name[:2], Report(found, seen, name))
    return home


def folder_of(project: Path, name: str) -> Path:
    (folder,) = (project / "bugs" / name[:2]).iterdir()
    return folder


def run(where: Path, test: str = "test_reproduce.py", implementation: str = "") -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", test]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    clean |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CONFORMANCE_IMPLEMENTATION": implementation, "COLUMNS": "1000"}
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, env=clean, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["my_adapter:make", PROGRAM_NAME])
def test_it_finds_the_implementation_from_its_own_folder_and_from_another(project, name, tmp_path):
    folder = folder_of(project, name)
    for where, test in ((folder, "test_reproduce.py"), (tmp_path, str(folder / "test_reproduce.py"))):
        status, said = run(where, test)
        assert (status, "FAILED: a-newer-timeoutable-barrier" in said) == (1, True), said


@pytest.mark.parametrize("name", ["my_adapter:make", PROGRAM_NAME])
def test_elsewhere_it_is_skipped_and_says_what_to_set(project, name, tmp_path):
    elsewhere = Path(shutil.copytree(folder_of(project, name), tmp_path / "unpacked"))
    status, said = run(elsewhere)
    assert (status, "1 skipped" in said) == (0, True), said
    assert "set CONFORMANCE_IMPLEMENTATION to module:object" in said


def test_the_variable_names_the_implementation_anew(project, tmp_path):
    elsewhere = Path(shutil.copytree(folder_of(project, "my_adapter:make"), tmp_path / "unpacked"))
    assert run(elsewhere, implementation=BUG)[0] == 1
    status, said = run(elsewhere, implementation="reference")
    assert (status, "1 passed" in said) == (0, True), said


def test_no_data_file_says_where_the_implementation_came_from(project):
    folder = folder_of(project, "my_adapter:make")
    there = {file.name for file in folder.iterdir() if file.is_file() and "../.." in file.read_text()}
    assert there == {"test_reproduce.py"}
    assert str(project) not in (folder / "test_reproduce.py").read_text()


@pytest.mark.parametrize("page", ["tutorial.md", "pytest.md"])
def test_the_pages_say_that_it_may_be_skipped_and_what_to_set_then(page):
    text = " ".join((Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8").split())
    assert "is skipped" in text
    assert VARIABLE in text
