"""The pytest plugin's front door: options, and a look at who is at home. Imports nothing of ours until one is used.

It stands beside the packages, not in one of them: pytest loads it in every run of everybody who has installed us, also
where a folder of theirs is called `conformance`, and there no plugin in our `conformance` could be found.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

_OURS = ("conformance", "strategies", "reference_impl")
PROFILES = ("quick", "default", "nightly", "soak")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `pytest --pyargs conformance.suite`."""
    group = parser.getgroup("conformance", "checkpoint conformance (pytest --pyargs conformance.suite)")
    group.addoption(
        "--implementation", action="append", metavar="NAME", default=[],
        help="whom to hold to it: a registered name, NAME@VERSION, module:object or jsonl:COMMAND; may be repeated",
    )  # fmt: skip
    group.addoption("--component", action="append", metavar="COMPONENT", default=[], help="this one only; repeatable")
    group.addoption(
        "--known-failures", metavar="FILE", help="failures that are no news (TOML), strictly: one that is gone is one"
    )
    group.addoption(
        "--assume", action="append", metavar="CAPABILITY", default=[],
        help="hold implementations to what needs this capability although they do not claim it; repeatable",
    )  # fmt: skip
    group.addoption("--conformance-profile", choices=PROFILES, help="how long to search [default: default]")
    group.addoption("--conformance-seed", metavar="TEXT", help="another text, other scenarios")
    group.addoption(
        "--conformance-reports", metavar="FOLDER",
        help="where bug reports go [default: conformance-reports in the root directory]",
    )  # fmt: skip
    parser.addini("conformance_implementation", "as --implementation, one per line", type="linelist", default=[])


def is_asked_for(config: pytest.Config) -> bool:
    """Whether this run is about the suite at all."""
    option = config.option
    return bool(
        option.implementation or option.component or option.known_failures or option.assume
        or option.conformance_profile or option.conformance_seed or option.conformance_reports
        or any(str(one).startswith("conformance.suite") for one in config.args)
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Begin, if this run is about the suite. Raises: pytest.UsageError where other packages are in the way."""
    if not is_asked_for(config):
        return
    for name in _OURS:
        _check_home(name)
    pytest.register_assert_rewrite("conformance.suite")
    from conformance.suite.run import ConformancePlugin

    config.pluginmanager.register(ConformancePlugin(config), "checkpoint-conformance-run")


def _home() -> Path:
    """Where our packages are: beside this file, or in the working copy that was installed as such."""
    told = distribution("checkpoint-conformance").read_text("direct_url.json")
    origin = json.loads(told) if told else {}
    if origin.get("dir_info", {}).get("editable"):
        return Path(url2pathname(urlparse(origin["url"]).path)).resolve()
    return Path(__file__).resolve().parent


def _check_home(name: str) -> None:
    """That a package of ours is not hidden by one of the same name."""
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
