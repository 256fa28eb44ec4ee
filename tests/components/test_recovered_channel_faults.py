"""The judge of a recovered channel whose buffer pools refuse or fail: what it leaves open, and what it sees."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.components import COMPONENTS
from conformance.components.recovered_channel import RecoveredChannelScenarioConfig
from conformance.components.recovered_channel.ledger import Ledger
from conformance.components.recovered_channel.steps import may_offer, may_push, may_push_after_end, strikeable
from conformance.driver import Program, run_scenario
from conformance.engines.check import search_range
from conformance.ports import (
    BUFFER_POOL,
    NETWORK_BUFFER_POOL,
    ChannelConfig,
    ErrorKind,
    FaultKind,
    FaultStruck,
    PortError,
    RecoveredChannelPort,
    Recovery,
)
from conformance.scheduling import Pause
from reference_impl.network.recovered_channel import RecoveredChannel
from tests.implementations import with_parts

REFUSED, DESTROYED = (BUFFER_POOL, "refuses", 1), (BUFFER_POOL, "ends", 1)
CONFIGS: Any = COMPONENTS["recovered-channel"].configs


def run(port: type[RecoveredChannel], *steps: tuple[Any, ...], recovery: Any = "pushed", fine: bool = False) -> Any:
    """Performs the steps, and the drain."""
    config = RecoveredChannelScenarioConfig(recovery, "fine" if fine else "whole", faults=True)
    program = Program(COMPONENTS["recovered-channel"], with_parts("mine", recovered_channel=port))
    return run_scenario(program, config, steps, record=True)


def slug(port: type[RecoveredChannel], *steps: tuple[Any, ...], **config: Any) -> str | None:
    """The slug of the property that breaks."""
    violation = run(port, *steps, **config).violation
    return None if violation is None else violation.property.slug


# ---- other ways to be right ------------------------------------------------------------------------------------------
class OffersSlowly(RecoveredChannel):
    """The thread of the pool pauses after it has handed the buffer over, before its call returns."""

    async def offer_buffer(self) -> bool:
        kept = await super().offer_buffer()
        await Pause("behind an offer")
        return kept


class AsksTwice(RecoveredChannel):
    """A push that has waited pauses before it takes the lock."""

    async def request_buffer(self) -> None:
        await super().request_buffer()
        await Pause("behind a wait")


@pytest.mark.parametrize("port", [OffersSlowly, AsksTwice])
def test_other_ways_to_be_right_are_not_blamed(port):
    program = Program(COMPONENTS["recovered-channel"], with_parts("mine", recovered_channel=port))
    assert search_range(program, "right", range(3000)).failures == {}


# ---- what is seen ----------------------------------------------------------------------------------------------------
class StrikesTwice(RecoveredChannel):
    async def push_recovered(self, data):
        await super().push_recovered(data)
        self.emit(FaultStruck(BUFFER_POOL, FaultKind.REFUSES))


class TellsOfNothing(RecoveredChannel):
    """A push that the release has ended notifies the gate of its buffer."""

    async def push_recovered(self, data):
        try:
            await super().push_recovered(data)
        except PortError as error:
            if error.kind is not ErrorKind.RELEASED:
                raise
            await self.listener.data_available(self)


PUSH = ("push_recovered", 1)


def test_a_fault_strikes_as_often_as_it_was_armed():
    assert slug(StrikesTwice, ("fault", *REFUSED), PUSH, ("offer_buffer",)) == "a-push-fails-with-the-buffer-pool"


def test_a_push_that_the_release_has_ended_must_not_notify():
    assert slug(TellsOfNothing, ("fault", *REFUSED), PUSH, ("release",)) == "a-release-ends-the-wait-for-a-buffer"


def test_a_pushed_buffer_that_failed_is_not_expected_any_more():
    done = run(RecoveredChannel, PUSH, ("fault", *DESTROYED), PUSH, ("resources",), recovery="in-memory")
    assert done.violation is None
    outcomes = {entry.step[0]: entry.outcome for entry in done.entries if not entry.closing}
    assert outcomes["resources"].value.segments == 1
    assert outcomes["push_recovered"].error.kind is ErrorKind.IO


def test_a_refused_conversion_leaves_the_channel_as_it_was_and_one_that_failed_does_not_go_on():
    steps = [PUSH, ("finish_recovered",), ("fault", NETWORK_BUFFER_POOL, "refuses", 1), ("convert",), ("convert",)]
    done = run(RecoveredChannel, *steps, recovery="in-memory")
    assert done.violation is None
    assert [one.outcome.value for one in done.entries if one.step == ("convert",)] == [None, (0,)]
    steps[2] = ("fault", NETWORK_BUFFER_POOL, "throws", 1)
    done = run(RecoveredChannel, *steps, recovery="in-memory")
    assert done.violation is None
    assert list(done.performed) == steps[:4], "nothing is called any more but the release"


# ---- when the faults can strike --------------------------------------------------------------------------------------
def open_ledger() -> Ledger:
    return Ledger(ChannelConfig(Recovery.PUSHED), RecoveredChannelPort.can_fail)


def test_while_a_push_waits_the_buffer_pool_can_only_be_destroyed():
    ledger = open_ledger()
    assert {*strikeable(ledger)} >= {REFUSED[:2], DESTROYED[:2]}
    ledger.faults.arm(BUFFER_POOL, FaultKind.REFUSES)
    ledger.begin_push(1)
    ledger.hear([FaultStruck(BUFFER_POOL, FaultKind.REFUSES)])
    assert ledger.phase == "waiting"
    assert may_offer(ledger)
    assert [one for one in strikeable(ledger) if one[0] == BUFFER_POOL] == [DESTROYED[:2]]
    ledger.faults.arm(BUFFER_POOL, FaultKind.ENDS)
    assert ledger.pool_is_destroyed()
    assert not may_offer(ledger)
    assert [one for one in strikeable(ledger) if one[0] == BUFFER_POOL] == []


def test_where_it_is_left_open_whether_a_push_asks_the_pool_none_of_its_calls_fails():
    ledger = open_ledger()
    ledger.recovered.finishing = True
    assert [one for one in strikeable(ledger) if one[0] == BUFFER_POOL] == []
    assert may_push_after_end(ledger)
    ledger.faults.arm(BUFFER_POOL, FaultKind.REFUSES)
    assert may_push_after_end(ledger), "before a release it asks for none"
    ledger.release()
    assert not may_push_after_end(ledger)
    released = open_ledger()
    released.release()
    assert may_push(released)
    released.faults.arm(BUFFER_POOL, FaultKind.REFUSES)
    assert not may_push(released)


def test_each_design_and_interleaving_has_faults_and_one_configuration_in_six():
    faulty = [one for one in CONFIGS if one.faults]
    assert CONFIGS[-len(faulty) :] == tuple(faulty)
    assert len({(one.recovery, one.interleaving) for one in faulty}) == len(faulty) == 6
    assert len(CONFIGS) == 6 * len(faulty)
