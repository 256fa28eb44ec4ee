"""Follows a page of the documentation to the letter, as a reader at a terminal of 80 columns would."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from conformance.reporting.status import INTERNAL

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_METHOD = re.compile(r"    def (\w+)\(")
_DONE = "\0"
"""Stands for the prompt of a command whose output is written, while others of the same text are still to come."""
_ANYTHING = "..."
"""A line of a page that stands for any number of lines."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


class Printed(NamedTuple):
    """A command of a page, what the page says that it prints, and what it prints."""

    command: str
    said: list[str]
    printed: list[str]

    @property
    def agrees(self) -> bool:
        """Whether the page is true."""
        pattern = "\n".join(r"(?:.*\n)*?.*" if line == _ANYTHING else re.escape(line) for line in self.said)
        return re.fullmatch(pattern, "\n".join(self.printed)) is not None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def follow(page: Path, folder: Path, module: str | None) -> Iterator[Printed]:
    """Do what a page says, in a folder: its Python blocks become a module, if it has a name; its console blocks run.

    A block that begins with an indented `def` replaces the method of that name; a block of imports alone replaces the
    imports; every other one is the whole module.
    """
    source = ""
    for block in blocks(page):
        if block.language == "python" and module is not None:
            source = changed(source, block.text)
            (folder / module).write_text(source, encoding="utf-8")
        elif block.language == "console":
            for command, said in _commands(block.text):
                yield Printed(command, said, run(shlex.split(command), folder))


def changed(source: str, text: str) -> str:
    """Return the module with what a block of a page changes."""
    if (method := _METHOD.match(text)) is not None:
        pattern = rf"    def {method[1]}\(.*?(?=\n\n    def |\n\n\nclass )"
    elif source and re.fullmatch(r"from \S+ import \([^)]*\)\n", text):
        pattern = r"\Afrom \S+ import [^\n]*(?=\n)"
    else:
        return text
    mended, count = re.subn(pattern, lambda _: text.rstrip(), source, count=1, flags=re.DOTALL)
    assert count == 1, f"the page changes what the module does not have:\n{text}"
    return mended


def run(command: Sequence[str], folder: Path) -> list[str]:
    """Run `conformance` in a folder and return the lines that a terminal of 80 columns shows, without colours."""
    name, *arguments = command
    assert name == "conformance", f"a page can only run conformance, not {name}"
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from conformance.cli import main; main()", *arguments]
    with subprocess.Popen(
        program, cwd=folder, env={**os.environ, "TERM": "dumb", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        printed = bytearray()
        with suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 65_536):
                printed += part
        os.close(ours)
        assert process.stderr is not None
        errors = process.stderr.read().decode()
    assert process.returncode != INTERNAL, errors
    return [line.rstrip() for line in printed.decode().splitlines()]


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *said = part.rstrip("\n").split("\n")
        yield command, [line.rstrip() for line in said]


def rewrite(page: Path, folder: Path, module: str | None) -> None:
    """Write into a page what its commands print now. Blocks with a line of dots are left as they are."""
    followed = list(follow(page, folder, module))
    text = page.read_text(encoding="utf-8")
    for one in followed:
        if _ANYTHING not in one.said:
            said, printed = ("".join(f"{line}\n" for line in lines) for lines in (one.said, one.printed))
            before = f"$ {one.command}\n{said}"
            place = text.index(before)
            text = f"{text[:place]}{_DONE} {one.command}\n{printed}{text[place + len(before) :]}"
    page.write_text(text.replace(f"{_DONE} ", "$ "), encoding="utf-8")


if __name__ == "__main__":
    rewrite(ROOT / "README.md", ROOT, None)
    with TemporaryDirectory() as reader:
        rewrite(ROOT / "docs" / "tutorial.md", Path(reader), "my_engine.py")
