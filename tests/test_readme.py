"""The README is true: what it shows is what the commands print, and what it counts is there."""

from __future__ import annotations

import ast
import re

import pytest

from conformance import cli
from conformance.components import COMPONENTS
from conformance.ports import known_bugs, legal_variants
from conformance.reporting.status import worst
from tests.pages import ROOT, follow

PAGE = ROOT / "README.md"
README = PAGE.read_text(encoding="utf-8")


def test_the_trace_on_the_first_screen_is_what_replay_prints():
    (replayed,) = follow(PAGE, ROOT, None)
    assert replayed.command == "conformance replay tests/corpus/B-01.json"
    assert replayed.agrees, "\n".join(replayed.printed)
    assert README.index("FAILED on known-bug:B-01") < 2500, "the caught bug belongs on the first screen"


def test_the_commands_that_are_listed_exist():
    listed = set(re.findall(r"^conformance (\w+)  ", README, re.MULTILINE)) | set(
        re.findall(r"^conformance (\w+) [A-Z]+ ", README, re.MULTILINE)
    )
    assert listed == set(cli.cli.commands)


def test_what_it_counts_is_there():
    assert f"| components | {len(COMPONENTS)}:" in README
    assert f"| known bugs | {len(list(known_bugs()))} " in README
    assert f"| legal variants | {len(list(legal_variants()))} " in README


def test_the_status_that_it_says_wins_is_the_one_that_is_used():
    (order,) = re.findall(r"74 wins over 2, (2 over \d, \d over \d, and \d over \d)\.", " ".join(README.split()))
    pairs = [(int(more), int(less)) for more, less in re.findall(r"(\d) over (\d)", order)]
    assert len(pairs) == 3
    assert all(worst(pair) == pair[0] for pair in pairs)


@pytest.mark.parametrize("snippet", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_snippets_are_python_and_import_what_exists(snippet):
    for node in ast.walk(ast.parse(snippet)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("conformance"):
            module = __import__(node.module, fromlist=["_"])
            assert all(hasattr(module, name.name) for name in node.names)


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()
