"""Promises about the files of this repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "conformance", "strategies", "reference_impl", "tests", "building", "docs", "examples", "reports", ".ci", ".github",
)  # fmt: skip

# The brackets keep these patterns from matching themselves.
HERE = re.compile(rb"(?<![\w.~-])/(?:ho[m]e|Us[e]rs|ro[o]t|wo[r]k|tm[p]|op[t])/\w|~/[.]pye[n]v|[A-Z]:\\Us[e]rs")
HOSTS = re.compile(
    rb"pyp[i][.]org|pythonhos[t]ed|mav[e]n[.](?:apache[.])?org|npmj[s]|proxy[.]gol[a]ng|--(?:extra-)?ind[e]x-url"
)

BUILT_IN = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xdist_group", "xfail"}


def files() -> list[Path]:
    """Every file that is kept, generated ones included."""
    inside = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if "__pycache__" not in file.parts]
    return sorted(file for file in (*ROOT.iterdir(), *inside) if file.is_file() and file.suffix != ".class")


def lines_matching(pattern: re.Pattern[bytes], file: Path) -> list[str]:
    """Where `pattern` occurs in `file`, as file:line and the line."""
    return [
        f"{file.relative_to(ROOT)}:{number}: {line.decode(errors='replace').strip()}"
        for number, line in enumerate(file.read_bytes().splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("pattern", [HERE, HOSTS], ids=["paths of one machine", "registry hosts"])
def test_nothing_points_at_where_it_was_written(pattern: re.Pattern[bytes]) -> None:
    found = [line for file in files() for line in lines_matching(pattern, file)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (HERE, "see /ho" + "me/someone/notes"),
        (HERE, "cd /wo" + "rk/tree"),
        (HERE, "open('/tm" + "p/x')"),
        (HERE, "file:///op" + "t/wheels"),
        (HOSTS, "https://py" + "pi.org/simple"),
        (HOSTS, "https://repo1.mav" + "en.org/maven2"),
    ],
)
def test_the_patterns_match_what_they_are_for(pattern: re.Pattern[bytes], text: str) -> None:
    assert pattern.search(text.encode())


@pytest.mark.parametrize("text", ["build/work/x", "some/home/page", "https://example.org/home/x", "a tmp folder"])
def test_the_patterns_leave_the_rest_alone(text: str) -> None:
    assert not HERE.search(text.encode())
    assert not HOSTS.search(text.encode())


def test_every_marker_is_registered() -> None:
    """Also in files that pytest does not collect by default, where --strict-markers cannot look."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    registered = {marker.partition(":")[0] for marker in settings["tool"]["pytest"]["ini_options"]["markers"]}
    used = {
        marker
        for folder in ("tests", "conformance")
        for file in (ROOT / folder).rglob("*.py")
        for marker in re.findall(r"\bpytest\.mark\.(\w+)", file.read_text(encoding="utf-8"))
    }
    assert used - BUILT_IN <= registered


def test_every_decision_has_its_own_number_and_a_line_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^- \[(\d+)\]\((\1-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    pages = sorted(file.name for file in folder.glob("[0-9]*.md"))
    assert sorted(name for _, name in listed) == pages
    assert len({number for number, _ in listed}) == len(pages)
