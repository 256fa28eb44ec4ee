"""Finding implementations, known bugs and legal variants by name.

A name is one of
- `reference`, or any other entry point of the group `checkpoint_conformance.implementations`; `NAME@VERSION` and
  `NAME:ARGUMENT` hand VERSION or ARGUMENT to it (`flink-component@2.2.1`, `jsonl:node adapter.js`);
- `known-bug:ID`, a known bug of the group `checkpoint_conformance.known_bugs`;
- `legal-variant:ID`, a legal variant of the group `checkpoint_conformance.legal_variants`;
- `module:object`, where the object is an `Implementation`, a class or a factory of one, a `KnownBug` or a
  `LegalVariant`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, TypeVar

from conformance.ports.capabilities import Capability
from conformance.ports.implementation import Implementation, UnusableImplementation
from conformance.ports.known_bugs import KnownBug
from conformance.ports.legal_variants import LegalVariant
from conformance.system.text import is_neutral_line, neutral_line

IMPLEMENTATIONS = "checkpoint_conformance.implementations"
KNOWN_BUGS = "checkpoint_conformance.known_bugs"
KNOWN_BUG_SCHEME = "known-bug:"
LEGAL_VARIANTS = "checkpoint_conformance.legal_variants"
LEGAL_VARIANT_SCHEME = "legal-variant:"

_SUITE = "checkpoint-conformance"
_VERSION = re.compile(r"[0-9]+([.-][0-9A-Za-z]+)*")
_RUNS_ITS_ARGUMENT = frozenset({"jsonl", "episodes"})

C = TypeVar("C", KnownBug, LegalVariant)


class NotChosen(UnusableImplementation):
    """A file names an implementation that is not built in, and nobody has chosen it."""

    def __init__(self, message: str, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.names = names
        """The implementations that the user must name to go on."""


def own_points(group: str) -> list[EntryPoint]:
    """The entry points of a group that are the suite's own."""
    return list(_points_on(tuple(sys.path), group)[1])


def foreign_point(group: str) -> str | None:
    """The name of an entry point of a group that is of another package than the suite; None if there is none."""
    every, own = _points_on(tuple(sys.path), group)
    return next((one.name for one in every if one not in own), None)


def _points(group: str) -> EntryPoints:
    return _points_on(tuple(sys.path), group)[0]


@cache
def _points_on(path: tuple[str, ...], group: str) -> tuple[EntryPoints, tuple[EntryPoint, ...]]:
    """The entry points of a group in the packages on this `sys.path`, and those of them that are the suite's own.

    The metadata of the packages is read once: that takes milliseconds, and every name is looked up several times.
    """
    every = entry_points(group=group)
    return every, tuple(one for one in every if one.dist is not None and _normal(one.dist.name) == _SUITE)


def is_own(implementation: Implementation) -> bool:
    """Whether the class of an implementation is the suite's own, or that of one of its known bugs and legal variants.

    A class of others that extends one of these is not.
    """
    return re.split("[.@]", type(implementation).__module__, maxsplit=1)[0] in _own_packages()


@cache
def _own_packages() -> frozenset[str]:
    return frozenset(point.module.partition(".")[0] for point in own_points(IMPLEMENTATIONS))


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def registered_names() -> list[str]:
    """The names of the registered implementations, sorted."""
    return sorted({point.name for point in _points(IMPLEMENTATIONS)})


def known_bugs() -> list[KnownBug]:
    """All registered known bugs, in the order of their catalogues."""
    return _catalogued(KNOWN_BUGS)


def legal_variants() -> list[LegalVariant]:
    """All registered legal variants, in the order of their catalogues."""
    return _catalogued(LEGAL_VARIANTS)


def find_known_bug(name: str) -> KnownBug:
    """A known bug by its id, or as `module:object`. Raises: UnusableImplementation."""
    return _find_change(name, known_bugs(), KNOWN_BUG_SCHEME, KnownBug, "known bug")


def find_legal_variant(name: str) -> LegalVariant:
    """A legal variant by its id, or as `module:object`. Raises: UnusableImplementation."""
    return _find_change(name, legal_variants(), LEGAL_VARIANT_SCHEME, LegalVariant, "legal variant")


def _catalogued(group: str) -> list[Any]:
    catalogues = sorted(_points(group), key=lambda point: point.name)
    return [one for point in catalogues for one in point.load()]


def _find_change(name: str, catalogue: list[C], scheme: str, kind: type[C], words: str) -> C:
    for one in catalogue:
        if one.id == name.removeprefix(scheme):
            return one
    if ":" in name and not name.startswith(scheme):
        found = _load_object(name)
        if isinstance(found, kind):
            return found
        raise UnusableImplementation(f"{name} is a {type(found).__name__}, not a {kind.__name__} of conformance.ports.")
    near = get_close_matches(name.removeprefix(scheme), [one.id for one in catalogue], n=5, cutoff=0)
    raise UnusableImplementation(
        f"There is no {words} {name!r}. The nearest are {', '.join(near)}; the chapters of the specification list all. "
        "One of your own is named as module:object."
    )


def find_implementation(name: str) -> Implementation:
    """An implementation by name.

    Raises: UnusableImplementation; its text says what to do.
    """
    check_can_be_read(name)
    if name.startswith(KNOWN_BUG_SCHEME):
        return find_known_bug(name).build()
    if name.startswith(LEGAL_VARIANT_SCHEME):
        return find_legal_variant(name).build()
    points = {point.name: point for point in _points(IMPLEMENTATIONS)}
    for separator in ("", "@", ":"):
        head, found, argument = name.partition(separator) if separator else (name, "", "")
        if head in points and (found or not separator):
            return _make(name, _load_point(points[head]), argument if found else None)
    if ":" in name:
        return _make(name, _load_object(name), None)
    raise UnusableImplementation(
        f"There is no implementation {name!r}. Registered are {', '.join(sorted(points)) or 'none'}; "
        "name one of your own module:object, a program in any language jsonl:COMMAND, a known bug known-bug:ID, "
        "a legal variant legal-variant:ID."
    )


def is_built_in(name: str) -> bool:
    """Whether a file may choose this implementation: if the name alone says what runs, and that is installed.

    So it is a known bug, a legal variant, or an entry point, with a version or without. A module, a program and any
    other argument of an entry point are none of these.
    """
    if name.startswith((KNOWN_BUG_SCHEME, LEGAL_VARIANT_SCHEME)):
        return True
    head, found, version = name.partition("@")
    if found and (head in _RUNS_ITS_ARGUMENT or not _VERSION.fullmatch(version)):
        return False
    return head in registered_names()


def check_chosen(names: Collection[str], chosen: Collection[str], source: str) -> None:
    """Check the implementations that a file names. Those that are not built in must be among the chosen ones.

    Raises: NotChosen; UnusableImplementation if somebody chose what the file does not name.
    """
    if unknown := [name for name in chosen if name not in names]:
        raise UnusableImplementation(f"{source} does not name {unknown[0]!r}; it names {', '.join(names)}.")
    if missing := tuple(name for name in names if name not in chosen and not is_built_in(name)):
        raise NotChosen(
            f"{source} names the implementation {', '.join(map(repr, missing))}, which is not built in. A file does "
            "not decide which program or which module runs here. If you know what this is, name it yourself.",
            missing,
        )


def offered_components(implementation: Implementation) -> frozenset[str]:
    """The names of the components that an implementation offers. Checks the types of its components and capabilities.

    Its name and version are checked, too: see `check_can_be_read`.

    Raises: UnusableImplementation.
    """
    try:
        name, version = implementation.name, implementation.version
        check_can_be_read(name, f"the name that {type(implementation).__name__} gives itself")
        check_can_be_read(version, f"the version that {name} gives itself")
        components, capabilities = implementation.components(), implementation.capabilities
    except UnusableImplementation:
        raise
    except (Exception, SystemExit) as error:
        raise UnusableImplementation(
            f"{_called(implementation)} raised when asked for its name, its version, components and capabilities: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(components, Mapping) or not all(callable(factory) for factory in components.values()):
        raise UnusableImplementation(
            f"{implementation.name}: components() must return a mapping from names to factories, it returned "
            f"{type(components).__name__}."
        )
    if not isinstance(capabilities, frozenset) or not all(isinstance(one, Capability) for one in capabilities):
        raise UnusableImplementation(
            f"{implementation.name}: capabilities must be a frozenset of conformance.ports.Capability, it is "
            f"{capabilities!r}."
        )
    return frozenset(components)


def check_can_be_read(name: object, what: str = "the name of an implementation") -> None:
    """Check a name, which will stand in lines of verdicts: it is text on one line, in which everything can be seen.

    Raises: UnusableImplementation. Its text has escape sequences in place of what cannot be seen.
    """
    if not isinstance(name, str):
        raise UnusableImplementation(f"{what} must be text, it is of type {type(name).__name__}.")
    if not is_neutral_line(name):
        raise UnusableImplementation(
            f"{what} is {neutral_line(repr(name))}, and has characters that cannot be seen or that end a line: in what "
            "is printed, it would look like words of the suite. Leave them out; a command of several lines "
            "goes into a file."
        )


def _called(implementation: Implementation) -> str:
    try:
        return str(implementation.name)
    except (Exception, SystemExit):
        return type(implementation).__name__


def _load_point(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise UnusableImplementation(
            f"The implementation {point.name!r} is registered as {point.value}, which cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error


def _load_object(name: str) -> Any:
    module_name, _, path = name.partition(":")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)  # as pytest and python -m do: an adapter usually lies in the current folder
    try:
        found = import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UnusableImplementation(
            f"{name}: the module {module_name!r} cannot be imported ({type(error).__name__}: {error}). "
            f"Python looked for it in {here} and on its module path."
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise UnusableImplementation(f"{name}: {module_name!r} has no object {path!r}.")
        found = getattr(found, part)
    return found


def _make(name: str, found: Any, argument: str | None) -> Implementation:
    if isinstance(found, KnownBug | LegalVariant):
        return found.build()
    if isinstance(found, Implementation):
        return found
    if not callable(found):
        raise UnusableImplementation(
            f"{name} is a {type(found).__name__}; it must be an Implementation, or a class or function that makes one."
        )
    made = _call(name, found, argument)
    if not isinstance(made, Implementation):
        raise UnusableImplementation(
            f"{name} made a {type(made).__name__}; it must make an Implementation of conformance.ports."
        )
    return made


def _call(name: str, factory: Callable[..., Any], argument: str | None) -> Any:
    try:
        return factory() if argument is None else factory(argument)
    except UnusableImplementation:
        raise
    except (Exception, SystemExit) as error:
        raise UnusableImplementation(
            f"{name} could not be made: {type(error).__name__}: {error}. "
            "A class must implement every abstract method; the text behind @ or : is passed as its only argument."
        ) from error
