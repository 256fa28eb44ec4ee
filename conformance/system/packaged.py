"""Data that ships with the packages, read through their loader: from a folder, a wheel or a zip."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath


def packaged(name: str, in_working_copy: str) -> Traversable | None:
    """Returns a folder of the installed package `conformance` or, in a working copy, the folder that becomes it."""
    package = files("conformance")
    found: Traversable = package / name
    if not found.is_dir() and isinstance(package, Path):
        found = package.parent / in_working_copy
    return found if found.is_dir() else None


def documentation() -> Traversable | None:
    """Returns the folder of the documentation, `docs` in a working copy."""
    return packaged("documentation", "docs")


def specification_folder() -> Traversable | None:
    """Returns the folder of the chapters: in the installed package, or `docs/specification` in a working copy."""
    pages = documentation()
    folder = pages / "specification" if pages is not None else None
    return folder if folder is not None and folder.is_dir() else None


def chapter_file(component: str) -> str:
    """Returns the name of the file of a component's chapter."""
    return f"{component}.md"


def chapter(component: str) -> str | None:
    """Returns the chapter of a component, or None if it has none or the specification is not installed."""
    folder = specification_folder()
    file = folder / chapter_file(component) if folder is not None else None
    return file.read_text(encoding="utf-8") if file is not None and file.is_file() else None


_TOP = PurePosixPath()


def all_files(folder: Traversable, under: PurePosixPath = _TOP) -> Iterator[tuple[PurePosixPath, Traversable]]:
    """Yields the files in a folder and in the folders in it, each with its place, in their order."""
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from all_files(one, under / one.name)
        else:
            yield under / one.name, one
