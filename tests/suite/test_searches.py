"""The parts of a search: run once, added up like the blocks of a campaign, and waited for while another runs them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import Check
from conformance.engines.checking import check_any
from conformance.ports import find_implementation
from conformance.suite.searches import Part, Searches

PROGRAM = Program(COMPONENTS["deque"], find_implementation("known-bug:B-D5"))
PARTS = [Part("known-bug:B-D5", "deque", str(number)) for number in range(3)]


def search(part: Part) -> Check:
    number = int(part.name)
    return check_any(PROGRAM, "0", range(number * 20, number * 20 + 20), corpus=number == 0)


def test_the_sum_of_the_parts_is_that_of_one_search(tmp_path: Path):
    ran: list[str] = []

    def run(part: Part) -> Check:
        ran.append(part.name)
        return search(part)

    one, other = Searches(tmp_path, run), Searches(tmp_path, run)
    assert one.known(PROGRAM, PARTS) is None
    one.ensure(PARTS[1])
    check = other.merged(PROGRAM, PARTS)
    assert sorted(ran) == ["0", "1", "2"], "each part is run once"
    whole = check_any(PROGRAM, "0", range(60))
    assert check.tally.exercised == whole.tally.exercised
    assert (check.tally.scenarios, check.tally.steps) == (whole.tally.scenarios, whole.tally.steps)
    assert {one.signature: one.count for one in check.found} == {one.signature: one.count for one in whole.found}
    parts = [search(part) for part in PARTS]
    for found in check.found:
        shortest = min(
            len(one.scenario.steps) for part in parts for one in part.found if one.signature == found.signature
        )
        assert len(found.scenario.steps) == shortest
        assert found.scenario.finding is not None
    assert one.known(PROGRAM, PARTS) == check


def test_who_comes_while_a_part_is_run_waits_for_its_result(tmp_path: Path):
    begun, go_on, others = threading.Event(), threading.Event(), []

    def slowly(part: Part) -> Check:
        begun.set()
        assert go_on.wait(60)
        return search(part)

    def unwanted(part: Part) -> Check:
        others.append(part.name)
        go_on.set()  # the other parts are run before anybody waits
        return search(part)

    slow = threading.Thread(target=Searches(tmp_path, slowly).ensure, args=(PARTS[0],))
    slow.start()
    assert begun.wait(60)
    check = Searches(tmp_path, unwanted).merged(PROGRAM, PARTS)
    slow.join()
    assert others == ["1", "2"]
    assert check.tally.scenarios == 60


def test_a_part_whose_process_died_is_run_again(tmp_path: Path):
    def dies(part: Part) -> Check:
        raise RuntimeError("died")

    with pytest.raises(RuntimeError):
        Searches(tmp_path, dies).ensure(PARTS[0])
    again = Searches(tmp_path, search)
    again.ensure(PARTS[0])
    assert again.known(PROGRAM, PARTS[:1]) is not None
