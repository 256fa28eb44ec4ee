"""Records which code runs a campaign, since blocks that different code ran must not be added up.

The record has a hash of every source file of the suite and of the reference, and of every scenario of the corpus. For
each implementation it has the version and, if the implementation is named `module:object`, a hash of that module's
file; of an adapter, a hash of each file that its command names. If the components are not those of the suite, it has a
hash of the file that defines them. It also has the versions of Python and of the packages that the suite needs.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from conformance.campaigns.names import ADAPTER_SCHEME, Names
from conformance.campaigns.plan import Plan
from conformance.engines.corpus import corpus_files
from conformance.scenarios.reading import read_bytes

_DISTRIBUTION = "checkpoint-conformance"
_NAME = re.compile(r"[\w.-]+")
_PACKAGES = ("conformance", "strategies", "reference_impl")
_MOST_BYTES = 1 << 20
"""No adapter is larger: what is, runs it."""
_ENDINGS = (".py", ".java", ".json", ".toml")


class Code(Struct, frozen=True):
    """The code that ran a campaign."""

    files: dict[str, str]
    """The first 16 hex digits of the SHA-256 hash of each file. The key is `package/path`."""
    versions: dict[str, str]
    """The version of each implementation. The key is its name in the plan."""
    environment: dict[str, str] = {}
    """The versions of Python and of the packages that the suite needs; empty in the files of earlier versions."""

    def changes(self, other: Code) -> list[str]:
        """Describe each difference in a few words."""
        found = [
            f"{name} is version {other.environment.get(name)!r}, it was {self.environment.get(name)!r}"
            for name in sorted({*self.environment, *other.environment} if self.environment else ())
            if self.environment.get(name) != other.environment.get(name)
        ]
        found += [
            f"{name} is {'new' if name not in self.files else 'gone' if name not in other.files else 'changed'}"
            for name in sorted({*self.files, *other.files})
            if self.files.get(name) != other.files.get(name)
        ]
        for name in sorted({*self.versions, *other.versions}):
            if self.versions.get(name) != other.versions.get(name):
                found.append(f"{name} is version {other.versions.get(name)!r}, it was {self.versions.get(name)!r}")
        return found


class CodeLog(Struct, frozen=True):
    """The code with which a campaign started, and each changed code that was accepted later."""

    codes: Annotated[tuple[Code, ...], Meta(min_length=1)]


def code_of(plan: Plan, names: Names) -> Code:
    """Return the code with which this process would run a plan. Raises: UnusableImplementation."""
    return code_by_names(plan.compared, names)  # the others are catalogues of the suite, whose files are hashed


def code_by_names(implementations: Iterable[str], names: Names) -> Code:
    """Return the code with which this process would run these implementations. Raises: UnusableImplementation."""
    files = {}
    for package in _PACKAGES:
        spec = find_spec(package)
        for folder in map(Path, (spec.submodule_search_locations or []) if spec is not None else []):
            for root, folders, here in os.walk(folder):
                folders[:] = set(folders) - {"corpus", "__pycache__"}
                below = Path(root).relative_to(folder).as_posix().removeprefix(".")
                for name in here:
                    if name.endswith(_ENDINGS):
                        files["/".join(filter(None, (package, below, name)))] = _hash(Path(root, name))
    for file in corpus_files():
        files[f"corpus/{file.name}"] = _hash(file)
    module = names.components.where.partition(":")[0]
    source = getattr(sys.modules.get(module), "__file__", None)
    if source is not None and module.partition(".")[0] not in _PACKAGES:
        files[f"components ({Path(source).name})"] = _hash(Path(source))
    versions = {}
    for name in implementations:
        implementation = names.here.find(name)
        versions[name] = implementation.version
        implementation.close()
        files |= {f"adapter ({path})": _hash(path) for path in _files_of_adapter(name)}
        module = name.partition(":")[0]
        spec = find_spec(module) if ":" in name and module.replace(".", "").isidentifier() else None
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            files[f"{module} ({Path(spec.origin).name})"] = _hash(Path(spec.origin))
    return Code(dict(sorted(files.items())), versions, environment())


def _files_of_adapter(name: str) -> Iterator[Path]:
    """Yield the files that the command of an adapter names, if an implementation has one; not what interprets them."""
    if name.startswith(ADAPTER_SCHEME):
        for word in shlex.split(name.removeprefix(ADAPTER_SCHEME)):
            path = Path(word)
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                yield path


def environment() -> dict[str, str]:
    """Return the versions of Python and of the packages that the suite needs: scenarios depend on them, too."""
    found = {"Python": f"{platform.python_implementation()} {platform.python_version()}"}
    try:
        needed = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:  # the suite was not installed, and nothing says what it needs
        needed = []
    for one in needed:
        name = _NAME.match(one)
        if name is not None and "extra ==" not in one:
            found[name[0]] = version(name[0])
    return dict(sorted(found.items()))


def _hash(file: Traversable) -> str:
    data = read_bytes(file) if isinstance(file, Path) else file.read_bytes()  # a package in an archive has no paths
    return hashlib.sha256(data).hexdigest()[:16]
