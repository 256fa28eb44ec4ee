"""Work in several processes: nothing of it outlives the driver, and Ctrl-C is the driver's alone."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from conformance.campaigns.checks import try_variants
from conformance.engines.interruption import Interruption, OnRequest
from conformance.engines.matrix import Asked, matrix
from conformance.engines.operators import Subject, try_operators
from conformance.engines.processes import mapping
from conformance.engines.works import in_processes
from conformance.ports.changes import CATALOGUES
from conformance.system.supervisor import adopt_orphans, descendants
from tests.system.test_processes import is_alive

FAR_TOO_LONG = 120
"""Seconds until a test gives up. No test that passes comes near it."""

DRIVER = """
from conformance.engines.processes import mapping
from tests.engines.test_processes import waits
if __name__ == "__main__":
    with mapping(2) as over:
        list(over(waits, [(), ()]))
"""


def waits(interruption: Interruption) -> None:
    print("waits", flush=True)
    signal.pause()


def answers(text: str, interruption: Interruption) -> str:
    if text == "never":
        signal.pause()
    return text


def spared(interruption: Interruption) -> int:
    return gc.get_freeze_count()


def presses(interruption: Interruption) -> str:
    signal.raise_signal(signal.SIGINT)
    return "goes on"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_the_processes_of_a_driver_that_is_killed_end_too():
    """They hold the pipe to which the driver writes: it ends when the last of them does."""
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert [driver.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
        driver.kill()
        assert driver.communicate(timeout=FAR_TOO_LONG)[0] == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_nothing_of_bugs_goes_on_after_its_driver_was_killed_also_while_it_starts(number):
    """Workers went on for a minute. What loses its parent below this process becomes its child."""
    adopt_orphans()
    mine = set(descendants())
    command = [sys.executable, "-c", "from conformance.cli import main; main()", "bugs", "--processes", "2"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(set(descendants()) - mine) >= number)
    finally:
        driver.kill()
        driver.wait()
    until(lambda: not any(map(is_alive, set(descendants()) - mine)))


def until(holds: Callable[[], bool]) -> None:
    for _ in range(FAR_TOO_LONG):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it takes far too long")


def test_after_an_interruption_nobody_waits_for_what_is_not_there():
    asked = OnRequest()
    with mapping(2, asked) as over:
        results = over(answers, [("first",), ("never",), ("never",), ("last",)])
        assert next(results) == "first"
        asked.request()
        assert list(results) == [None, None, None]
    assert multiprocessing.active_children() == []


def test_an_error_leaves_no_process_behind():
    def fails() -> None:
        with mapping(2) as over:
            assert next(over(answers, [("first",), ("never",)])) == "first"
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        fails()
    assert multiprocessing.active_children() == []


def test_an_interrupt_of_the_terminal_does_not_reach_them():
    with mapping(2) as over:
        assert list(over(presses, [(), ()])) == ["goes on"] * 2


def test_a_process_whose_driver_has_ended_before_does_not_begin():
    code = "from conformance.engines.processes import _begin; _begin(-1); print('begun')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    code = code.replace("-1", str(os.getpid()))
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "begun\n"


class AfterLooks:
    """Requested when somebody has looked so many times."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    @property
    def requested(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_a_matrix_has_the_bugs_that_are_known_by_then():
    names = ["B-D1", "B-D5", "B-D3"]
    whole = matrix(names, Asked(("a", "b"), 500))
    seen: list[int] = []
    looks = 0
    lines = None
    while not lines:  # how many runs a bug takes is not for this test to say
        looks += 200
        with in_processes(1, AfterLooks(looks)) as over:
            lines = matrix(names, Asked(("a", "b"), 500, optimal=True, confirmed=True), over, seen.append)
    assert 0 < len(lines) < len(names)
    for one, other in zip(lines, whole, strict=False):
        assert (one.bug, one.forms) == (other.bug, other.forms)
        assert (one.optimum, one.opinion) == (None, None)


def test_nothing_is_said_of_a_variant_that_was_not_tried_to_the_end():
    names = ["tests.ports.foreign_variants:COUNTS_THE_END", "tests.ports.foreign_variants:TAKES_THE_LAST"]
    with in_processes(1, AfterLooks(20)) as over:
        assert try_variants(names, "0", 50, over) == []


def test_operator_mutants_that_were_not_tried_are_missing():
    asked = OnRequest()
    asked.request()
    subject = Subject("reference_impl", "reference", CATALOGUES)
    with in_processes(1, asked) as over:
        assert try_operators(subject, ("deque",), 2, 10, over) == []


def test_the_garbage_collector_of_a_new_process_spares_what_is_loaded_and_that_of_this_one_does_not():
    before = gc.get_freeze_count()
    with mapping(2) as over:
        assert all((count or 0) > 1000 for count in over(spared, [(), ()]))
    with mapping(1) as over:
        [now] = over(spared, [()])
    assert now is not None
    assert now <= before, "what was spared at the start of the tests may have gone since, but nothing was added"
