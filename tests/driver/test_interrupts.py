"""What an operation raises is an outcome, unless somebody else directs the run with it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis.errors import StopTest, UnsatisfiedAssumption

from conformance.components import COMPONENTS
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.driver import FailureClass, Interrupt, Program, run_scenario
from conformance.engines.calls import perform
from conformance.ports import UnusableImplementation, find_implementation
from reference_impl.network.subpartition import Subpartition
from tests import implementations as made

CONFIG = SubpartitionScenarioConfig()
STEPS = [("open_buffer", 1), ("finish_buffer",), ("attach_view",)]


class Mine(BaseException):
    """Of the implementation."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


def raising(what: Any, asynchronous: bool = False) -> Program:
    def do() -> None:
        if isinstance(what, BaseException):
            raise what
        what()

    async def later(self: Any) -> None:
        do()

    part = type("Raising", (Subpartition,), {"finish_buffer": later if asynchronous else lambda self: do()})
    return Program(COMPONENTS["subpartition"], made.With(part))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("what", "said"),
    [
        (lambda: sys.exit(0), "SystemExit: 0"),
        (Mine("no"), "Mine: no"),
        (GeneratorExit(), "GeneratorExit: "),
        (Mute(), "Mute: an exception that has no text"),
        (ValueError("\x1b[2J\x07"), r"ValueError: \x1b[2J\x07"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_whatever_ends_an_operation_is_a_finding(what, said, asynchronous):
    run = run_scenario(raising(what, asynchronous), CONFIG, STEPS)
    assert run.violation is not None
    assert run.violation.broken.failure_class is FailureClass.CRASHED
    assert run.violation.broken.observed == f"it did not keep to the interface: {said}"
    assert run.performed == STEPS[:2]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (Interrupt(), Interrupt),
        (lambda: pytest.exit("enough"), pytest.exit.Exception),
        (lambda: pytest.skip("not here"), pytest.skip.Exception),
        (lambda: pytest.fail("too late"), pytest.fail.Exception),
        (UnsatisfiedAssumption(), UnsatisfiedAssumption),
        (StopTest(0), StopTest),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_directs_a_run_passes(what, expected, asynchronous):
    with pytest.raises(expected):
        run_scenario(raising(what, asynchronous), CONFIG, STEPS)


class ExitsWhenMade(made.With):
    def components(self):
        return {"subpartition": lambda config: sys.exit(0)}


def test_an_exit_in_the_factory_is_a_finding():
    run = run_scenario(Program(COMPONENTS["subpartition"], ExitsWhenMade()), CONFIG, STEPS)
    assert run.violation is not None
    assert run.violation.broken.observed == "it did not keep to the interface: SystemExit: 0"


def test_the_doctor_survives_an_exit():
    program = raising(lambda: sys.exit(0))
    happened = perform(
        program.component, program.factory, [("new", program.component.port_config(CONFIG)), ("finish_buffer",)]
    )
    assert happened[-1].call == ("finish_buffer",)
    assert happened[-1].outcome.error is not None
    assert happened[-1].outcome.error.reason == "SystemExit: 0"


def exits() -> Any:
    sys.exit(0)


def test_an_exit_while_an_implementation_is_made_is_reported(tmp_path, monkeypatch):
    with pytest.raises(UnusableImplementation, match="SystemExit: 0"):
        find_implementation("tests.driver.test_interrupts:exits")
    (tmp_path / "exits_when_imported.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnusableImplementation, match="SystemExit: 0"):
        find_implementation("exits_when_imported:Adapter")
