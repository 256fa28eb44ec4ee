"""Which code a campaign runs: blocks of different code must not be added up.

Told apart is every source file of the suite and of the reference, every scenario of the corpus, and of each
implementation its version and, where it is named `module:object`, the file of that module; and so where components
stand that are none of the suite.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from conformance.campaigns.names import Names
from conformance.campaigns.plan import Plan
from conformance.engines.corpus import corpus_folder

_PACKAGES = ("conformance", "strategies", "reference_impl")
_ENDINGS = frozenset({".py", ".java", ".json", ".toml"})


class Code(Struct, frozen=True):
    """What a campaign was run with."""

    files: dict[str, str]
    """A short content hash by file, as `package/path`."""
    versions: dict[str, str]
    """By name of implementation."""

    def changes(self, other: Code) -> list[str]:
        """What is different, in words; empty if nothing is."""
        found = [
            f"{name} is {'new' if name not in self.files else 'gone' if name not in other.files else 'changed'}"
            for name in sorted({*self.files, *other.files})
            if self.files.get(name) != other.files.get(name)
        ]
        for name in sorted({*self.versions, *other.versions}):
            if self.versions.get(name) != other.versions.get(name):
                found.append(f"{name} is version {other.versions.get(name)!r}, it was {self.versions.get(name)!r}")
        return found


class CodeLog(Struct, frozen=True):
    """The code with which a campaign began, and each that was accepted later."""

    codes: tuple[Code, ...]


def code_of(plan: Plan, names: Names) -> Code:
    """The code that would run a plan here and now. Raises: UnusableImplementation."""
    files = {}
    for package in _PACKAGES:
        spec = find_spec(package)
        for folder in map(Path, (spec.submodule_search_locations or []) if spec is not None else []):
            for path in folder.rglob("*"):
                if path.suffix in _ENDINGS and "corpus" not in path.relative_to(folder).parts:
                    files[f"{package}/{path.relative_to(folder).as_posix()}"] = _hash(path)
    corpus = corpus_folder()
    for path in corpus.glob("*.json") if corpus is not None else ():
        files[f"corpus/{path.name}"] = _hash(path)
    module = names.components.where.partition(":")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None and module.partition(".")[0] not in _PACKAGES:
        files[f"components ({Path(file).name})"] = _hash(Path(file))
    versions = {}
    for name in plan.implementations:
        implementation = names.find(name)
        versions[name] = implementation.version
        implementation.close()
        module = name.partition(":")[0]
        spec = find_spec(module) if ":" in name and module.replace(".", "").isidentifier() else None
        if spec is not None and spec.origin and Path(spec.origin).is_file():
            files[f"{module} ({Path(spec.origin).name})"] = _hash(Path(spec.origin))
    return Code(dict(sorted(files.items())), versions)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
