"""The test in a bug report folder, which runs where the folder lies, and on another machine.

Where the implementation came from stands in the test alone, relative to the folder: no data file decides what runs
(decision 40). The environment variable names another implementation, or the same one elsewhere.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from conformance.ports import is_built_in

VARIABLE = "CONFORMANCE_IMPLEMENTATION"
"""The environment variable that names the implementation anew."""

_TEST = '''\
"""This test fails until the bug is fixed. Run it with: python -m pytest test_reproduce.py

Needs the package checkpoint-conformance, and scenario.json next to this file. report.md explains what is wrong.
"""

import os
from contextlib import closing
from pathlib import Path

import pytest

from conformance.engines import read_scenario, replay
from conformance.ports import UnusableImplementation, find_implementation
from conformance.system.text import neutral_line

HERE = Path(__file__).resolve().parent
IMPLEMENTATION = {implementation!r}
RUN_IN = {run_in!r}  # the folder in which it was found, seen from this one; None: any folder
IMPORT_FROM = {import_from!r}  # the folder from which its module was imported; None: it is installed
ASSUMED = {assume!r}


def test_the_property_holds(monkeypatch):
    scenario = read_scenario(HERE / "scenario.json")
    name = os.environ.get({variable!r})
    if not name:
        name = IMPLEMENTATION
        for folder in filter(None, (RUN_IN, IMPORT_FROM)):
            if not (HERE / folder).is_dir():
                pytest.skip(f"{{name}} was found in {{folder}}, which is not here: {{ADVICE}}")
        if IMPORT_FROM is not None:
            monkeypatch.syspath_prepend(str(HERE / IMPORT_FROM))
        if RUN_IN is not None:
            monkeypatch.chdir(HERE / RUN_IN)
    try:
        with closing(find_implementation(name)) as implementation:
            result = replay(scenario, implementation, ASSUMED)
    except UnusableImplementation as error:
        pytest.skip(neutral_line(f"{{error}} To run the test, {{ADVICE}}"))
    assert result.verdict.value == "FIXED", neutral_line(f"{{result.verdict.value}}: {{result.reason}}")


ADVICE = "set {variable} to module:object, jsonl:COMMAND or the name of an installed implementation."
'''


def reproducer(implementation: str, assumed: Sequence[str], folder: Path) -> str:
    """Return the test. `folder` is where it will lie."""
    run_in = import_from = None
    if not is_built_in(implementation):
        run_in = _seen_from(folder, Path.cwd())
        root = _imported_from(implementation)
        import_from = None if root is None else _seen_from(folder, root)
    return _TEST.format(
        implementation=implementation, run_in=run_in, import_from=import_from, assume=tuple(assumed), variable=VARIABLE
    )


def _seen_from(folder: Path, other: Path) -> str:
    return Path(os.path.relpath(other.resolve(), folder.resolve())).as_posix()


def _imported_from(implementation: str) -> Path | None:
    """Return the folder on the module path in which the module of module:object lies; None if it is installed."""
    module, colon, _ = implementation.partition(":")
    if not colon or not all(part.isidentifier() for part in module.split(".")):
        return None
    top = module.partition(".")[0]
    found = PathFinder.find_spec(top, [os.getcwd(), *(one for one in sys.path if one)])
    origin = None if found is None else found.origin or next(iter(found.submodule_search_locations or ()), None)
    if origin is None:
        return None
    at = Path(origin).resolve()
    if at.name == "__init__.py":
        at = at.parent
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")}
    return None if at.parent in installed else at.parent
