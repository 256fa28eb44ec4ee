"""Reading catalogues of changes of a package's text. Known bugs and legal variants are such changes.

A catalogue is one TOML file for each component, with a list of entries. The change of an entry is a diff
(`conformance.ports.changed`), and it is made only when the entry is built.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import ModuleType
from typing import TypeVar

import msgspec

from conformance.ports.changed import DoesNotFit, changed
from conformance.ports.implementation import Implementation, UnusableImplementation

T = TypeVar("T")
Make = Callable[[ModuleType, str], Implementation]
"""Makes an implementation of this name out of a package, which may be a changed copy."""

CATALOGUES = ("known_bugs", "legal_variants")
"""The subpackages that hold catalogues. A changed copy of a package leaves them out."""


def tables(package: str) -> list[Traversable]:
    """The TOML files in a package, in the order of their names."""
    found = [file for file in files(package).iterdir() if file.name.endswith(".toml")]
    return sorted(found, key=lambda file: file.name)


def read_catalogue(file: Traversable, form: type[T]) -> T:
    """The contents of a TOML file. Raises: ValueError, which names the file and the field."""
    try:
        return msgspec.toml.decode(file.read_text(encoding="utf-8"), type=form)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file.name}: {error}") from error


def changed_implementation(package: str, change: str, make: Make, name: str) -> Callable[[], Implementation]:
    """Returns a function that makes the implementation with the change. It raises UnusableImplementation if the change
    does not fit."""
    return partial(_changed, package, change, make, name)


def original_implementation(package: str, make: Make, name: str) -> Callable[[], Implementation]:
    """Returns a function that makes the implementation without any change."""
    return partial(_original, package, make, name)


def _changed(package: str, change: str, make: Make, name: str) -> Implementation:
    try:
        copy = changed(package, change, leave_out=CATALOGUES)
    except DoesNotFit as error:
        raise UnusableImplementation(f"the change of {name} does not fit {package}: {error}") from error
    return make(copy, name)


def _original(package: str, make: Make, name: str) -> Implementation:
    return make(import_module(package), name)
