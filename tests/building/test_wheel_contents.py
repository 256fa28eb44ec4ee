"""What is in the wheel, seen without installing it."""

from __future__ import annotations

import email
import posixpath
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?![a-z]+:|#)([^()\s#]+)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("checkpoint_conformance-*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def links(text: str) -> list[str]:
    return LINK.findall(CODE.sub("", text))


def test_a_page_links_only_to_what_is_in_the_wheel(wheel):
    inside = set(wheel.namelist())
    pages = [name for name in inside if name.startswith("conformance/documentation/") and name.endswith(".md")]
    promised = ("tutorial.md", "jsonl-protocol.md", "specification/README.md", "decisions/README.md")
    assert {f"conformance/documentation/{name}" for name in promised} <= set(pages)
    targets = {
        (page, target): posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        for page in pages
        for target in links(wheel.read(page).decode())
    }
    assert len(targets) > 100
    assert [link for link, target in targets.items() if target not in inside] == []


def test_the_documentation_is_there_as_a_whole(wheel):
    kept = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*") if file.is_file()}
    inside = {name for name in wheel.namelist() if name.startswith("conformance/documentation/")}
    assert {name.removeprefix("conformance/documentation/") for name in inside} == kept


def test_the_long_description_links_to_no_file(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert text.startswith("# Checkpoint conformance")
    assert links(text) == []
    assert metadata.get_all("Project-URL") is None, "the project has no public address"


def test_the_extras_are_those_that_messages_name(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    extras = set(email.message_from_bytes(wheel.read(name)).get_all("Provides-Extra", ()))
    named = {
        extra
        for place in ("conformance", "checkpoint_conformance_pytest.py", "README.md", "docs")
        for file in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
        if file.suffix in (".py", ".md")
        for extra in re.findall(r"checkpoint-conformance\[(\w+)\]", file.read_text(encoding="utf-8"))
    }
    assert {"pytest", "spark", "flink"} <= named <= extras
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras == set(project["optional-dependencies"])
