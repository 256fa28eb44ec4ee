"""Writes what the author of defects may read: the chapters without properties and known bugs, and the reference.

python -m tests.hunts.export build/hunt
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from conformance.ports.changed import Package
from conformance.ports.changes import CATALOGUES
from conformance.system.writing import make_folder, write_text
from tests.hunts.sought import PACKAGE

ROOT = Path(__file__).parents[2]
CHAPTERS = ROOT / "docs" / "specification"
JUDGED = re.compile(r"<!-- generated: judged -->.*?<!-- end -->\n?", re.DOTALL)
KNOWN_BUG = re.compile(r"\b[BV]-[A-Z]?\d\w*")
TASK = Path(__file__).parent / "README.md"


def blind(chapter: str) -> str:
    """Return a chapter without its table of properties and known bugs, and without a sentence that names one."""
    shown = JUDGED.sub("", chapter)
    return re.sub(r"[^.\n]*" + KNOWN_BUG.pattern + r"[^.]*\.", "", shown)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def main(folder: Path) -> None:
    """Write chapters, reference and the task into a folder."""
    for chapter in sorted(CHAPTERS.glob("*.md")):
        make_folder(folder / "chapters")
        write_text(folder / "chapters" / chapter.name, blind(chapter.read_text(encoding="utf-8")))
    package = Package(PACKAGE, CATALOGUES)
    for file in package.files:
        make_folder((folder / PACKAGE / file).parent)
        write_text(folder / PACKAGE / file, package.text(file))
    write_text(folder / "TASK.md", TASK.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
