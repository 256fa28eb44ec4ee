"""The judges of a chain: what they must put up with, and how they distinguish defects of a checkpoint."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.components.chain import ChainScenarioConfig, rules
from conformance.components.chain.ledger import Ledger
from conformance.driver import Broken, FailureClass, Program, Seen, run_scenario
from conformance.engines import Search
from conformance.ports import ChainCheckpoint, ChainConfig, ChannelKind, CheckpointStatus, Recovery
from reference_impl.task.chain import Chain
from tests.implementations import changed_reference, with_parts

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
JUDGES = (
    rules.nothing_behind_a_barrier_is_in_the_checkpoint,
    rules.nothing_is_in_a_checkpoint_twice,
    rules.nothing_is_missing_in_a_checkpoint,
    rules.channel_state_is_in_order,
)


EAGER = """
--- network/reader.py
@@ def next
+        self.join()
         if not self.in_line:
             return None
"""
"""The network looks whenever something can leave, whether it was notified or not."""


class FetchesAtOnce(Chain):
    """What is recovered upstream is already there when the producer says that it is the end."""

    async def recover_output(self, channel: int) -> None:
        self.due = [*getattr(self, "due", []), channel]

    async def finish_output_recovery(self, channel: int) -> None:
        for one in getattr(self, "due", []):
            if one == channel:
                await super().recover_output(channel)
        await super().finish_output_recovery(channel)


@pytest.mark.parametrize(
    "implementation", [changed_reference(EAGER), with_parts("hand-made", chain=FetchesAtOnce)], ids=["eager", "at once"]
)
def test_other_ways_to_be_right_are_right(implementation):
    program = Program(COMPONENTS["chain"], implementation)
    search = Search(program)
    assert [str(run.violation) for number in range(300) if (run := search.run(str(number))[1]).violation] == []


def seen_of(counted, input_state, output_state) -> Seen[object]:
    seen: Seen[object] = Seen()
    seen.value = ChainCheckpoint(CheckpointStatus.COMPLETED, (counted,), (input_state,), (output_state,))
    return seen


def ledger_with_a_cut(sent: int) -> Ledger:
    ledger = Ledger(ChainConfig((LOCAL,)), ("pushed",), passes_blocked=True, can_fail={})
    ledger.lanes[0].sent = sent
    ledger.begin_barrier(0, 1, "unaligned")
    ledger.lanes[0].sent += 3
    ledger.begin_read(1)
    return ledger


@pytest.mark.parametrize(
    ("contents", "verdicts"),
    [
        (((0,), (1, 2), (3,)), (True, True, True, True)),
        (((0, 1, 2, 3), (), ()), (True, True, True, True)),
        (((0,), (1, 2), (3, 4)), ("duplicated", True, True, True)),
        (((0, 1), (1, 2), (3,)), (True, "duplicated", True, "ok or not")),
        (((0,), (2,), (3,)), (True, True, "lost", True)),
        (((0,), (3,), (1, 2)), (True, True, True, "reordered")),
    ],
)
def test_the_four_defects_of_a_checkpoint_are_distinguished(contents, verdicts):
    ledger = ledger_with_a_cut(4)
    for judge, verdict in zip(JUDGES, verdicts, strict=True):
        judgement = judge(ledger, seen_of(*contents))
        if verdict != "ok or not":
            told = judgement.failure_class if isinstance(judgement, Broken) else judgement
            assert told is (True if verdict is True else FailureClass(verdict))


def test_a_checkpoint_that_is_not_complete_is_not_judged():
    seen = seen_of((7,), (), ())
    seen.value = ChainCheckpoint(CheckpointStatus.PENDING)
    assert [judge(ledger_with_a_cut(4), seen) for judge in JUDGES] == [False] * 4


def test_a_checkpoint_of_too_few_channels_is_missing_something():
    seen = seen_of((), (), ())
    seen.value = ChainCheckpoint(CheckpointStatus.COMPLETED)
    judgement = rules.nothing_is_missing_in_a_checkpoint(ledger_with_a_cut(4), seen)
    assert isinstance(judgement, Broken)
    assert judgement.failure_class is FailureClass.LOST


def test_a_restore_makes_a_port_of_the_checkpoint_in_the_design_that_was_asked_for():
    made = []

    class Remembered(Chain):
        def __init__(self, config, design) -> None:
            made.append(config)
            super().__init__(config, design)

    program = Program(COMPONENTS["chain"], with_parts("hand-made", chain=Remembered))
    config = ChainScenarioConfig((LOCAL,), recoveries=(Recovery.IN_MEMORY, Recovery.PUSHED))
    steps = (("request_partitions",), ("produce", 0, 2), ("barrier", 0, 1, "unaligned"), ("consume",), ("fail",))
    restored = ChainCheckpoint(CheckpointStatus.COMPLETED, ((),), ((),), ((0, 1),))
    for recovery in config.recoveries:
        made.clear()
        assert run_scenario(program, config, (*steps, ("restore", 1, recovery.value))).violation is None
        assert [(one.recovery, one.restored) for one in made] == [(Recovery.NONE, None), (recovery, restored)]


def test_a_run_may_begin_in_the_middle_of_a_recovery():
    program = Program(COMPONENTS["chain"], with_parts("hand-made", chain=Chain))
    for recovery in (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED):
        for downstream in (False, True):
            config = ChainScenarioConfig((LOCAL, REMOTE), recovery, (recovery,), downstream, 2, 2)
            assert run_scenario(program, config, ()).violation is None
