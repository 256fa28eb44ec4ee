"""A private copy of a package in which some lines are changed.

A known bug is a change of the reference's text, written as a diff:

```
--- network/gate.py
@@ async def swap
         async with self.lock:
-            self.forget(old)
             self.channels[new.index] = new
```

`--- FILE` names a file below the package. `@@` begins another hunk in the same file; the rest of its line is ignored.
A hunk has no line numbers, so the lines that it shows must occur in the file exactly once.

The package must import itself relatively: an absolute import would find the unchanged module. A copy has own modules
for the changed files and for whatever imports them, however far away. It shares the others with the package: they are
the same, and to load them takes most of the time of a copy.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import NamedTuple


class DoesNotFit(ValueError):
    """A change cannot be made. The text says in which file, and why."""


class Hunk(NamedTuple):
    """Some lines of one file, and the lines that replace them."""

    file: str
    """Below the package, as `network/gate.py`."""
    was: str
    now: str


def hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff, in its order.

    Raises: DoesNotFit if this is no diff, or if a hunk changes nothing.
    """
    found: list[Hunk] = []
    file = ""
    was: list[str] = []
    now: list[str] = []

    def end_hunk() -> None:
        if was == now:
            raise DoesNotFit(f"{file or 'a diff'}: a hunk must remove or add a line")
        found.append(Hunk(file, "".join(was), "".join(now)))
        was.clear()
        now.clear()

    for number, line in enumerate(diff.strip("\n").splitlines(), 1):
        if line.startswith(("--- ", "@@")):
            if was or now:
                end_hunk()
            file = line[4:].strip() if line.startswith("--- ") else file
            continue
        mark, text = line[:1] or " ", f"{line[1:]}\n"
        if mark not in " -+" or not file:
            raise DoesNotFit(
                f"line {number} of a diff: {line!r} should begin with a blank, - or +, below a line '--- FILE'"
            )
        if mark != "+":
            was.append(text)
        if mark != "-":
            now.append(text)
    end_hunk()
    return tuple(found)


class Package:
    """The modules of a package, read through its loader, so that it may be a folder, a wheel or a zip file."""

    def __init__(self, name: str, leave_out: Sequence[str] = ()) -> None:
        """`leave_out`: subpackages that a copy does not contain, as `known_bugs`.

        Raises: ModuleNotFoundError.
        """
        self.name = name
        root = importlib.util.find_spec(name)
        if root is None or root.submodule_search_locations is None:
            raise ModuleNotFoundError(f"there is no package {name!r}", name=name)
        places = tuple(root.submodule_search_locations)
        self._specs = {
            _file(name, spec): spec
            for spec in (root, *_inner(name, places, frozenset(f"{name}.{one}" for one in leave_out)))
        }
        self.files = {file: spec.name for file, spec in self._specs.items()}
        """The names of the modules by their files, as `{"network/gate.py": "reference_impl.network.gate"}`."""

    def text(self, file: str) -> str:
        """The source of one file.

        Raises: DoesNotFit if there is no such file.
        """
        spec = self._specs.get(file)
        if spec is None:
            raise DoesNotFit(f"{self.name} has no file {file!r}; it has {', '.join(sorted(self.files))}")
        text = _loader(spec).get_source(spec.name)
        if text is None:
            raise DoesNotFit(f"{self.name} comes without the source of {file}")
        return text

    def changed_texts(self, diff: str) -> dict[str, str]:
        """The files that a diff changes, with their changed texts.

        Raises: DoesNotFit.
        """
        texts: dict[str, str] = {}
        for hunk in hunks(diff):
            texts[hunk.file] = _exchange(texts.get(hunk.file) or self.text(hunk.file), hunk)
        return texts

    def copy(self, texts: Mapping[str, str]) -> ModuleType:
        """A copy of the package with these files in place of its own. The copy does not stay in `sys.modules`.

        All modules of the copy are imported now. One of its own modules that imports another one later, inside a
        function, would not find it; an absolute import would find the unchanged module.

        Raises: whatever a changed file raises while it is imported; no module stays in `sys.modules` then either.
        """
        digest = hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:12]
        alias = f"{self.name}@{digest}"
        own = self._concerned(texts)
        modules = {
            alias + spec.name[len(self.name) :]: _Copied(spec, texts.get(file), f"{spec.origin} changed as {digest}")
            for file, spec in self._specs.items()
            if spec.name in own
        }
        finder = _Finder(modules)
        sys.meta_path.insert(0, finder)
        try:
            for name in self.files.values():
                if name not in own:
                    sys.modules[alias + name[len(self.name) :]] = import_module(name)
            copy = import_module(alias)
            for name in modules:
                import_module(name)
        finally:
            sys.meta_path.remove(finder)
            for name in [one for one in sys.modules if one == alias or one.startswith(f"{alias}.")]:
                del sys.modules[name]
        return copy

    def _concerned(self, files: Iterable[str]) -> frozenset[str]:
        """Returns the names of the modules that are other ones if these files are: those of the files, those that use
        them, and the packages in which all these are, since a package knows its modules."""
        names = frozenset(self.files.values())
        users: dict[str, set[str]] = {}
        for spec in self._specs.values():
            loader, is_package = _loader(spec), spec.submodule_search_locations is not None
            for module, name in _imports(loader, spec.name, is_package, _state(loader, spec.name)):
                used = f"{module}.{name}"
                users.setdefault(used if used in names else module, set()).add(spec.name)
        found: set[str] = set()
        left = [self.files[file] for file in files]
        while left:
            if (one := left.pop()) not in found:
                found.add(one)
                left += users.get(one, ())
        packages = {
            ".".join(parts[:end]) for parts in (one.split(".") for one in found) for end in range(1, len(parts))
        }
        return frozenset(found | (packages & names) | {self.name})


def changed(package: str, diff: str, leave_out: Sequence[str] = ()) -> ModuleType:
    """A private copy of a package with the changes of a diff.

    Raises: DoesNotFit if a hunk does not fit exactly once; whatever a changed file raises while it is imported.
    """
    original = Package(package, leave_out)
    return original.copy(original.changed_texts(diff))


def _exchange(text: str, hunk: Hunk) -> str:
    """The text with the lines of a hunk exchanged."""
    lines, was = text.splitlines(keepends=True), hunk.was.splitlines(keepends=True)
    places = [at for at in range(len(lines) - len(was) + 1) if lines[at : at + len(was)] == was]
    if len(places) != 1 or not was:
        raise DoesNotFit(f"{hunk.file}: these lines occur {len(places)} times in it, they must occur once:\n{hunk.was}")
    return "".join([*lines[: places[0]], hunk.now, *lines[places[0] + len(was) :]])


def _file(package: str, spec: ModuleSpec) -> str:
    """The file of a module below its package, with slashes on every system."""
    parts = spec.name[len(package) :].replace(".", "/").lstrip("/")
    if spec.submodule_search_locations is not None:
        return f"{parts}/__init__.py".lstrip("/")
    return f"{parts}.py"


@cache
def _inner(package: str, places: tuple[str, ...], leave_out: frozenset[str]) -> tuple[ModuleSpec, ...]:
    """Returns the modules inside a package. Its folders are listed once: a fifth of the time that a copy takes."""
    return tuple(_walk(package, places, leave_out))


def _walk(package: str, places: Sequence[str], leave_out: frozenset[str]) -> Iterator[ModuleSpec]:
    for one in pkgutil.iter_modules(places):
        name = f"{package}.{one.name}"
        found = None if name in leave_out else one.module_finder.find_spec(name, None)
        if found is not None:
            yield found
            yield from _walk(name, found.submodule_search_locations or (), leave_out)


def _loader(spec: ModuleSpec) -> InspectLoader:
    """The loader of a module. Loaders of files and of zip files can return the source."""
    assert isinstance(spec.loader, InspectLoader) or hasattr(spec.loader, "get_source")
    return spec.loader  # type: ignore[return-value]


@cache
def _original_code(loader: InspectLoader, name: str, state: object) -> CodeType | None:
    """The code of an unchanged module. Most copies of a package differ in one file, so the others are compiled once.

    `state`: that of its source, so that a file that was edited meanwhile is compiled again.
    """
    return loader.get_code(name)


def _state(loader: InspectLoader, name: str) -> object:
    """Returns what changes with the source of a module: when a file was written and how long it is, or else the text.

    Python itself asks for no more to see whether a compiled file is still right.
    """
    if isinstance(loader, SourceFileLoader):
        return tuple(sorted(loader.path_stats(loader.path).items()))
    return loader.get_source(name)


@cache
def _imports(loader: InspectLoader, name: str, is_package: bool, state: object) -> frozenset[tuple[str, str]]:
    """Returns what a module imports relatively, at its beginning or later: modules, and what it takes from each, which
    may be a module of its own."""
    found: set[tuple[str, str]] = set()
    for one in ast.walk(ast.parse(loader.get_source(name) or "")):
        if isinstance(one, ast.ImportFrom) and one.level:
            parts = name.split(".")
            home = ".".join(parts[: len(parts) - one.level + is_package])
            module = f"{home}.{one.module}" if one.module else home
            found |= {(module, alias.name) for alias in one.names}
    return frozenset(found)


class _Copied(InspectLoader):
    """Loads one module of a copy. Tracebacks get its lines from here, since a changed file is not on disk."""

    def __init__(self, original: ModuleSpec, text: str | None, file: str) -> None:
        self.original = original
        self.text = text
        self.file = file if text is not None else original.origin
        self.has_submodules = original.submodule_search_locations is not None

    def is_package(self, fullname: str) -> bool:
        return self.has_submodules

    def get_source(self, fullname: str) -> str | None:
        """The source of the module as it is in the copy."""
        return self.text if self.text is not None else _loader(self.original).get_source(self.original.name)

    def get_code(self, fullname: str) -> CodeType | None:
        """For an unchanged file, the code of the original, which may have been compiled before."""
        if self.text is None:
            loader, name = _loader(self.original), self.original.name
            return _original_code(loader, name, _state(loader, name))
        code: CodeType = compile(self.text, str(self.file), "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    """Finds the modules of one copy, and no others below its name."""

    def __init__(self, modules: Mapping[str, _Copied]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None if the module does not belong to the copy."""
        loader = self.modules.get(fullname)
        if loader is None:
            return None
        return ModuleSpec(fullname, loader, origin=loader.file, is_package=loader.has_submodules)
