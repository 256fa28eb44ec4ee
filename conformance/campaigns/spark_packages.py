"""Packs what executors on other machines need of this project, and of the implementations that a plan names."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Plan
from conformance.engines.corpus import corpus_files

PACKAGES = ("conformance", "strategies", "reference_impl")
DISTRIBUTION = "checkpoint-conformance"


def pack(path: Path, plan: Plan | None = None, names: Names = SUITE) -> Path:
    """Write a zip of the three packages for executors on other machines, with the entry points of implementations.

    With a plan, it also has the top-level packages of the modules that the plan and `names` name, unless they are
    installed. Dependencies (msgspec, hypothesis) must be installed on those machines. Return `path`.
    """
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            _pack_module(archive, package)
        for module in sorted({*_named(plan, names)}) if plan is not None else ():
            _pack_module(archive, module)
        for file in corpus_files():
            archive.writestr(f"conformance/corpus/{file.name}", file.read_bytes())
        try:
            known = distribution(DISTRIBUTION)
        except PackageNotFoundError:
            return path
        folder = f"{DISTRIBUTION.replace('-', '_')}-{known.version}.dist-info"
        for name in ("METADATA", "entry_points.txt"):
            if text := known.read_text(name):
                archive.writestr(f"{folder}/{name}", text)
    return path


def _pack_module(archive: ZipFile, name: str) -> None:
    """Add a package, or a module that is one file."""
    spec = find_spec(name)
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        for file in sorted(Path(root).rglob("*")):
            where = Path(name, file.relative_to(root))
            if "__pycache__" not in file.parts and where.parts[:2] != ("conformance", "corpus"):
                archive.write(file, where.as_posix())  # folders too: without them, Python finds no namespace packages
    if spec is not None and not spec.submodule_search_locations and spec.origin and Path(spec.origin).is_file():
        archive.write(spec.origin, Path(spec.origin).name)


def _named(plan: Plan, names: Names) -> Iterator[str]:
    """Yield the top-level packages that executors need and do not have, as this machine has not installed them."""
    for name in (*plan.implementations, names.finder, names.components.where):
        module = name.partition(":")[0].partition(".")[0]
        if ":" in name and module.isidentifier() and module not in PACKAGES and not _is_installed(module):
            yield module


def _is_installed(module: str) -> bool:
    spec = find_spec(module)
    if spec is None:
        return True  # it is not here either
    places = [Path(sysconfig.get_path(one)) for one in ("purelib", "platlib", "stdlib")]
    stands = [Path(one) for one in (spec.origin, *(spec.submodule_search_locations or ())) if one is not None]
    return any(place in one.parents for place in places for one in stands)
