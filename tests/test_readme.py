"""The README tells the truth: what it shows is what the commands print."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conformance import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_trace_on_the_first_screen_is_what_replay_prints(capsys):
    with pytest.raises(SystemExit):
        cli.main(["replay", str(ROOT / "tests" / "corpus" / "B-01.json")])
    printed = squeezed(capsys.readouterr().out)
    shown = README.partition("$ conformance replay tests/corpus/B-01.json\n")[2].partition("```")[0]
    assert squeezed(shown) == printed
    assert README.index("FAILED on known-bug:B-01") < 2500, "the caught bug belongs on the first screen"


def test_the_commands_that_are_listed_exist():
    listed = set(re.findall(r"^conformance (\w+)", README, re.MULTILINE))
    assert listed == set(cli.cli.commands)


@pytest.mark.parametrize("snippet", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_snippets_are_python_and_import_what_exists(snippet):
    for node in ast.walk(ast.parse(snippet)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("conformance"):
            module = __import__(node.module, fromlist=["_"])
            assert all(hasattr(module, name.name) for name in node.names)


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()
