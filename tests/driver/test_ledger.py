"""What every ledger knows: the life of its port, the operations in flight, the faults that are armed."""

from __future__ import annotations

from conformance.driver import PortLedger
from conformance.driver.ledger import NEXT_CALL, Faults
from conformance.ports import PRODUCER, FaultKind, FaultStruck

WRITE, FLUSH, THROWS = "write", "flush", FaultKind.THROWS


def live():
    ledger = PortLedger()
    ledger.begin_life("live")
    return ledger


def test_a_port_begins_without_anything_in_flight():
    ledger = live()
    assert (ledger.phase, ledger.flying, ledger.releases, ledger.afterlife) == ("live", 0, 0, 0)
    flags = ledger.releasing, ledger.released, ledger.failed, ledger.alone, ledger.closing
    assert flags == (False,) * 5


def test_an_operation_is_alone_if_no_other_one_overlaps_it():
    ledger = live()
    ledger.begin_alone()
    assert (ledger.alone, ledger.flying) == (True, 1)
    ledger.begin()
    assert (ledger.alone, ledger.flying) == (False, 2)
    ledger.end()
    ledger.begin_alone()
    assert (ledger.alone, ledger.flying) == (False, 2)
    ledger.end()
    ledger.end()
    assert ledger.flying == 0
    ledger.begin_alone()
    assert ledger.alone


def test_a_port_is_released_when_the_last_release_is_over():
    ledger = live()
    ledger.begin_release()
    ledger.begin_cancel()
    assert (ledger.phase, ledger.releasing, ledger.released) == ("broken", True, False)
    ledger.release()
    assert not ledger.released
    ledger.release()
    assert (ledger.phase, ledger.released, ledger.is_over()) == ("released", True, True)


def test_a_port_that_failed_stays_failed():
    ledger = live()
    ledger.begin()
    ledger.begin_release()
    ledger.fail()
    assert (ledger.phase, ledger.flying, ledger.releases, ledger.released) == ("failed", 0, 0, True)
    ledger.release()
    assert ledger.phase == "failed"


def test_a_release_that_was_refused_never_began():
    ledger = live()
    ledger.begin_release()
    ledger.take_back_release()
    assert not ledger.releasing
    assert ledger.releases == 0


def test_what_begins_after_the_release_is_counted():
    ledger = live()
    ledger.begin_afterwards()
    ledger.begin_release()
    assert ledger.afterlife == 0
    ledger.release()
    ledger.begin_afterwards()
    ledger.begin_release()
    assert ledger.afterlife == 2


def armed():
    faults = Faults({WRITE: (THROWS,), FLUSH: (THROWS,)})
    faults.arm(WRITE, THROWS, 2)
    faults.arm(FLUSH, THROWS)
    return faults


def test_a_fault_is_armed_until_it_strikes():
    faults = armed()
    assert (faults.armed, faults.later, list(faults.possible())) == ([WRITE, FLUSH], [WRITE], [])
    faults.struck([FaultStruck(WRITE, THROWS), FaultStruck(WRITE, THROWS)])
    assert (faults.armed, faults.later) == ([FLUSH], [])
    assert [place for place, _ in faults.possible()] == [WRITE]
    faults.restart()
    assert (faults.armed, faults.later) == ([], [])


def test_a_fault_that_an_implementation_lacks_is_left_out():
    faults = armed()
    faults.restart()
    faults.leave_out(WRITE, THROWS, 2)
    assert faults.calls(WRITE, THROWS) == NEXT_CALL
    assert max(faults.calls(FLUSH, THROWS)) > 1
    assert faults.calls(FLUSH, FaultKind.ENDS) == faults.calls(PRODUCER, THROWS) == NEXT_CALL
    assert len(faults.possible()) == 2
    faults.leave_out(WRITE, THROWS)
    assert [place for place, _ in faults.possible()] == [FLUSH]


def test_what_will_only_be_slow_is_not_armed():
    faults = armed()
    faults.restart()
    faults.arm(WRITE, FaultKind.SLOW, 2)
    assert (faults.armed, faults.later) == ([], [])
    assert len(faults.possible()) == 2
