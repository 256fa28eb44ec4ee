"""The tutorial does what it says, and its commands print what it shows.

`python -m tests.pages` writes into the page what the commands print now.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check
from conformance.ports import Capability, Implementation, find_implementation
from conformance.ports.deque import DequeConfig
from conformance.reporting.columns import Word
from conformance.reporting.counts import NOT_PUT_TO_THE_TEST
from tests.pages import ROOT, Printed, changed, follow

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> list[Printed]:
    return list(follow(TUTORIAL, tmp_path_factory.mktemp("reader"), "my_engine.py"))


def test_every_command_prints_what_the_page_shows(followed):
    wrong = [f"$ {one.command}\n{chr(10).join(one.printed)}" for one in followed if not one.agrees]
    assert not wrong, "the page shows something else; see the docstring of this file"


def test_there_are_three_rejections_and_then_it_conforms(followed):
    text = ["\n".join(one.printed) for one in followed]
    assert ["MyEngine 1: FAILED" in one for one in text] == [True, True, True, False]
    assert "MyEngine 1: conforms" in text[-1]


def test_a_page_that_shows_something_else_is_noticed():
    assert Printed("conformance", ["one", "..."], ["one", "two", "three"]).agrees
    assert not Printed("conformance", ["one", "two"], ["one", "two", "three"]).agrees
    assert not Printed("conformance", ["one", "..."], ["two"]).agrees


def test_a_method_that_the_module_does_not_have_is_not_replaced():
    with pytest.raises(AssertionError, match="does not have"):
        changed("class Persister:\n    def stop(self):\n        pass\n", "    def start(self):\n        pass\n")


def test_the_page_explains_each_first_word_of_a_line_in_a_pipe():
    told = re.findall(r"(?m)^\| `([\w-]+)` \|", TUTORIAL.read_text(encoding="utf-8"))
    words = [Word.FAILED.shown, *(one.value.replace(" ", "-") for one in NOT_PUT_TO_THE_TEST), "counts"]
    assert sorted(told) == sorted(words)


class WithOne(Implementation):
    """An implementation with one component."""

    name, version = "on-asyncio", "1"
    capabilities = frozenset({Capability.RESOURCES})

    def __init__(self, component: str, factory: Callable[[Any], Any]) -> None:
        self.component, self.factory = component, factory

    def components(self):
        return {self.component: self.factory}


class Queue:
    """An engine on asyncio: every operation lets the loop go on while it has a lock."""

    def __init__(self) -> None:
        self.port = find_implementation("reference").components()["deque"](DequeConfig())
        self.lock = asyncio.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def operation(*operands: Any) -> Any:
            async with self.lock:
                await asyncio.sleep(0)
                return getattr(self.port, name)(*operands)

        return operation


def test_an_adapter_that_runs_its_own_loop_conforms(monkeypatch):
    (snippet,) = re.findall(r"```py\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.setitem(cast("dict[str, Any]", sys.modules), "my_queue", SimpleNamespace(Queue=Queue))
    made: dict[str, Any] = {}
    exec(snippet, made)
    shown, run = made["Deque"], made["run"]
    assert {"add", "poll"} <= vars(shown).keys()

    def like_these(name: str) -> Callable[..., Any]:
        return lambda self, *operands: run(getattr(self.queue, name)(*operands))

    whole = type("Whole", (shown,), {name: like_these(name) for name in shown.__abstractmethods__})

    result = check(Program(COMPONENTS["deque"], WithOne("deque", whole)), 50, 0)
    assert (result.found, result.tally.scenarios) == ((), 50)


@pytest.mark.parametrize(
    ("component", "said"), [("deque", "the operation paused"), ("gate", "which is not a Waitable")]
)
def test_to_await_something_of_asyncio_is_a_failure(component, said):
    """In a component without threads and in one with threads, as the page says."""

    async def sleeping(*operands: Any) -> None:
        await asyncio.sleep(0)

    factory = find_implementation("reference").components()[component]

    def slow(config: Any) -> Any:
        port = factory(config)
        for name in COMPONENTS[component].port.__abstractmethods__ - {"resources"}:
            setattr(port, name, sleeping)
        return port

    result = check(Program(COMPONENTS[component], WithOne(component, slow)), 5, 0)
    assert said in " ".join(one.observed for one in result.found)
