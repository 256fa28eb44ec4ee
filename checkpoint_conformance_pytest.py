"""The pytest plugin of the suite. It imports the packages of the suite only if one of its options is used.

This module is not in a package, because pytest loads it in every run, in every repository of a user who has installed
the suite. If such a repository has a folder `conformance`, Python finds that folder first, and cannot load a plugin
from the suite's package `conformance`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

_OURS = ("conformance", "strategies", "reference_impl")
_REWRITTEN = "conformance.suite"
"""Where our tests are: pytest may rewrite their assertions."""
PROFILES = ("quick", "default", "nightly", "soak")
_OPTIONS_OF_XDIST = ("-n", "--numprocesses", "--dist")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `pytest --pyargs conformance.suite`."""
    group = parser.getgroup("conformance", "checkpoint conformance (pytest --pyargs conformance.suite)")
    group.addoption(
        "--implementation", action="append", metavar="NAME", default=[],
        help="what to test: a registered name, NAME@VERSION, module:object, jsonl:COMMAND, known-bug:ID or "
        "legal-variant:ID; may be repeated",
    )  # fmt: skip
    group.addoption(
        "--component",
        action="append",
        metavar="COMPONENT",
        default=[],
        help="test only this component; may be repeated",
    )
    group.addoption(
        "--known-failures",
        metavar="FILE",
        help="a list of known failures (TOML); the test of an entry fails if the entry no longer fails",
    )
    group.addoption(
        "--assume", action="append", metavar="CAPABILITY", default=[],
        help="also test properties that need this capability, although it is not claimed; may be repeated",
    )  # fmt: skip
    group.addoption("--conformance-profile", choices=PROFILES, help="how long to search [default: default]")
    group.addoption("--conformance-seed", metavar="TEXT", help="the seed; another text gives other scenarios")
    group.addoption(
        "--conformance-reports", metavar="FOLDER",
        help="where bug reports are written [default: conformance-reports in the root directory]",
    )  # fmt: skip
    group.addoption(
        "--conformance-ctrf", metavar="PATH",
        help="write the verdicts in the Common Test Report Format (JSON), for continuous integration",
    )  # fmt: skip
    group.addoption("--conformance-step-seconds", type=float, help="how long an operation may take [default: 20]")
    group.addoption(
        "--conformance-memory", type=int, metavar="MIB",
        help="how much memory the process of an implementation may use, with those that it starts [default: 2048]",
    )  # fmt: skip
    group.addoption(
        "--conformance-in-process", action="store_true",
        help="run implementations in the process of pytest and without limits, for a debugger; they can end it",
    )  # fmt: skip
    parser.addini("conformance_implementation", "as --implementation, one per line", type="linelist", default=[])


class _AsWritten(MetaPathFinder):
    """Finds the modules of our packages in front of pytest, so that it rewrites no assertion in them.

    pytest rewrites all packages of a distribution that has a plugin. Known bugs are copies of our packages with a few
    changed lines, and need the loader of Python, which can return the source.
    """

    def __init__(self) -> None:
        self._beside = Path(__file__).resolve().parent

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of ours is. Return None for all others, also for those of a user with our names."""
        if fullname.partition(".")[0] not in _OURS or f"{fullname}.".startswith(f"{_REWRITTEN}."):
            return None
        found = PathFinder.find_spec(fullname, path, target)
        ours = found is not None and found.origin and Path(found.origin).resolve().is_relative_to(self._beside)
        return found if ours else None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Leave the assertions in our packages as they are, from before the first conftest.py that imports them.

    Say what to install for several processes, before pytest says only that it does not know their options.

    Raises: pytest.UsageError.
    """
    finder = _AsWritten()
    sys.meta_path.insert(0, finder)
    early_config.add_cleanup(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)
    asked = any(one.startswith("conformance.suite") for one in args) and any(
        one.startswith(_OPTIONS_OF_XDIST) for one in args
    )
    if asked and find_spec("xdist") is None:
        raise pytest.UsageError(
            "The option -n needs pytest-xdist, which is not installed: pip install 'checkpoint-conformance[pytest]'. "
            "Without -n, the suite runs in one process."
        )


def is_asked_for(config: pytest.Config) -> bool:
    """Return whether this run uses an option or a test of the suite."""
    option = config.option
    return bool(
        option.implementation or option.component or option.known_failures or option.assume
        or option.conformance_profile or option.conformance_seed or option.conformance_reports
        or option.conformance_ctrf or option.conformance_in_process
        or option.conformance_step_seconds is not None or option.conformance_memory is not None
        or any(str(one).startswith("conformance.suite") for one in config.args)
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Start the suite if it is used. Raises: pytest.UsageError if Python finds other packages under its names."""
    if not is_asked_for(config):
        return
    for name in _OURS:
        _check_home(name)
    pytest.register_assert_rewrite(_REWRITTEN)
    from conformance.suite.run import ConformancePlugin

    config.pluginmanager.register(ConformancePlugin(config), "checkpoint-conformance-run")


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Before a failure is shown, remove the lines of the suite from Hypothesis' explanation, if a test used `judge`."""
    if call.excinfo is not None and "conformance.suite.judging" in sys.modules:
        from conformance.system.notes import without_our_lines

        without_our_lines(call.excinfo.value)
    yield


def _home() -> Path:
    """Return the folder of the suite's packages: that of this file, or the working copy of an editable installation."""
    told = distribution("checkpoint-conformance").read_text("direct_url.json")
    origin = json.loads(told) if told else {}
    if origin.get("dir_info", {}).get("editable"):
        return Path(url2pathname(urlparse(origin["url"]).path)).resolve()
    return Path(__file__).resolve().parent


def _check_home(name: str) -> None:
    """Raise a pytest.UsageError if Python finds something else under the name of a package of the suite."""
    module = sys.modules.get(name)
    if module is not None:
        found = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
    else:
        spec = find_spec(name)
        found = None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or []), None)
    ours = _home() / name
    if found is None or not Path(found).resolve().is_relative_to(ours):
        raise pytest.UsageError(
            f"The conformance suite needs its own package {name!r}, {ours}, but Python finds "
            f"{found or 'nothing'} first. Run `pytest --import-mode=importlib` (not `python -m pytest`, which puts the "
            "current folder first), or run it from another folder, or rename yours."
        )
