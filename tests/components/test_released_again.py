"""Every component is released again at the end of each run, and no number of what it holds is below zero.

Each engine here lies in one of these ways, whatever the component is. A new component is tried as the others are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program, Run, run_scenario
from conformance.ports import DataAvailable, ErrorKind, PortError, Resources, find_implementation

REFERENCE = find_implementation("reference")
READY = {name: Program(one, REFERENCE) for name, one in COMPONENTS.items()}


def run_with(component: str, lie: Callable[[Any, Callable[[], Any], Callable[[], Any]], None]) -> Run:
    """Returns a run without steps, of ports of the reference whose `release` or `resources` lies."""
    ready = READY[component]

    def factory(config: Any) -> Any:
        port = ready.factory(config)
        lie(port, port.release, port.resources)
        return port

    return run_scenario(ready.made_by(factory), ready.configs[0], [])


def counting(released: list[int], release: Callable[[], Any]) -> Callable[[], Any]:
    """Returns a release that notes how often it was called."""

    def counted() -> Any:
        released.append(1)
        return release()

    return counted


def told(run: Run) -> tuple[str, str]:
    assert run.violation is not None
    assert run.violation.property.slug == ANSWERS
    return run.violation.broken.owed, run.violation.broken.observed


def below_zero(port: Any, release: Callable[[], Any], resources: Callable[[], Any]) -> None:
    port.resources = lambda: replace(resources(), listeners=-1)


def below_zero_when_released_again(port: Any, release: Callable[[], Any], resources: Callable[[], Any]) -> None:
    released: list[int] = []
    port.release = counting(released, release)
    port.resources = lambda: replace(resources(), segments=1 - len(released)) if len(released) > 1 else resources()


def gives_back_again(port: Any, release: Callable[[], Any], resources: Callable[[], Any]) -> None:
    """As if the task had a buffer that the second release gives back in its place."""
    released: list[int] = []
    port.release = counting(released, release)
    port.resources = lambda: Resources(heap=max(0, 3 - len(released)) if released else None)


def notifies_again(port: Any, release: Callable[[], Any], resources: Callable[[], Any]) -> None:
    released: list[int] = []

    def second() -> Any:
        if released:
            port.emit(DataAvailable())
        released.append(1)
        return release()

    port.release = second


def fails_again(port: Any, release: Callable[[], Any], resources: Callable[[], Any]) -> None:
    released: list[int] = []

    def second() -> Any:
        if released:
            raise PortError(ErrorKind.RELEASED, "it was released")
        released.append(1)
        return release()

    port.release = second


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_every_component_can_be_released_again_at_the_end_of_a_run(component):
    """This is what a new component lacks whose release is not enabled in its final phase, or that nobody looks at."""
    ends = READY[component].ends
    assert ends is not None
    look, release = ends
    kinds = {one.name: one for one in COMPONENTS[component].steps}
    assert kinds[look[0]].answers is Resources
    assert kinds[release[0]].crashes


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_what_a_release_does_that_comes_again_is_noticed(component):
    assert run_with(component, lambda *_: None).violation is None
    assert told(run_with(component, below_zero)) == ("no number of listeners is below zero", "the number is -1")
    assert "segments" in told(run_with(component, below_zero_when_released_again))[0]
    assert "notify nobody" in told(run_with(component, notifies_again))[0]
    assert "released" in told(run_with(component, fails_again))[1]


def test_a_second_release_that_takes_what_the_task_holds_is_noticed(monkeypatch):
    """After the first release, as much is held as the task may hold; after the second one, less."""
    monkeypatch.setattr(type(COMPONENTS["remote-channel"].make_ledger(*_made())), "keeps", lambda ledger: 2)
    owed, observed = told(run_with("remote-channel", gives_back_again))
    assert owed == "a second release changes nothing, and before it the number of heap was 1"
    assert observed == "now it is 0"


def _made() -> tuple[Any, Any]:
    return READY["remote-channel"].configs[0], REFERENCE.capabilities
