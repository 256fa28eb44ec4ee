"""The rules of a coordinator: what they must put up with, and what they say of engines that no known bug is like."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.components import COMPONENTS
from conformance.components.coordinator import CoordinatorScenarioConfig
from conformance.components.coordinator.ledger import MOST_SUBTASKS
from conformance.driver import Program, run_scenario
from conformance.engines import Search
from conformance.ports import Capability, CoordinatorConfig, Implementation, Message, find_implementation
from reference_impl import reference_v1
from reference_impl.coordinator.attempts import Attempt
from reference_impl.coordinator.coordinator import Coordinator, Operands
from reference_impl.coordinator.down import Gates
from reference_impl.coordinator.protocol import V2, Protocol
from reference_impl.coordinator.up import Surroundings, Unblocked
from tests.implementations import changed_reference

COORDINATOR = COMPONENTS["coordinator"]
EVERY = frozenset(Capability)
SAME_REPORTS = "a-checkpoint-has-the-same-reports-on-both-sides"
HOOK = "what-a-snapshot-hook-reports-is-in-the-checkpoint"


class Made(Implementation):
    """An engine with one kind of coordinator and nothing else."""

    name = "hand-made"

    def __init__(self, part: type[Coordinator], capabilities: frozenset[Capability] = EVERY) -> None:
        self.part = part
        self.claimed = capabilities

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.claimed

    def components(self):
        return {"coordinator": self.part}


def slugs_of_violations(program: Program, scenarios: int) -> set[str]:
    """The properties that are broken in so many scenarios."""
    search = Search(program)
    runs = [search.run(str(number))[1] for number in range(scenarios)]
    return {run.violation.property.slug for run in runs if run.violation is not None}


# ---- other ways to be right ------------------------------------------------------------------------------------------
class AtOnce(Coordinator):
    """Has no queue: whatever another thread asks of the main thread happens before the call returns."""

    def __init__(self, config: CoordinatorConfig, protocol: Protocol = V2) -> None:
        super().__init__(config, protocol)

    def later(self, turn: Callable[[*Operands], None], *operands: *Operands) -> None:
        turn(*operands)


class Counting(Unblocked):
    """Lets all reports through. A checkpoint stores those that a subtask had sent before its snapshot and that the
    coordinator had not been given when it cut."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self.sent: dict[Attempt, list[Message]] = {}
        self.given: dict[Attempt, int] = {}
        self.cuts: dict[int, dict[Attempt, int]] = {}
        self.saved: dict[int, list[Message]] = {}

    def deploy(self, attempt: Attempt, stored: list[Message]) -> None:
        self.sent[attempt], self.given[attempt] = [], 0
        for message in stored:
            self.report(attempt, message)

    def report(self, attempt: Attempt, message: Message) -> None:
        self.sent[attempt].append(message)
        super().report(attempt, message)

    def barrier(self, attempt: Attempt, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]) -> None:
        super().barrier(attempt, checkpoint, succeeds, hook)
        if succeeds and checkpoint in self.cuts:
            late = self.sent[attempt][self.cuts[checkpoint].get(attempt, 0) :]
            self.saved[checkpoint] = [*self.saved.get(checkpoint, ()), *late]

    def stored(self, checkpoint: int, parallelism: int) -> tuple[tuple[Message, ...], ...]:
        """A report that is replayed after rescaling, and has not arrived, may be of a subtask that is no more."""
        late = self.saved.get(checkpoint, [])
        return tuple([tuple([one for one in late if one.subtask == subtask]) for subtask in range(MOST_SUBTASKS)])


class Storing(Coordinator):
    """Never blocks a subtask, and still loses no report."""

    def __init__(self, config: CoordinatorConfig) -> None:
        super().__init__(config, Protocol(Gates, Counting, True, True))

    def cut(self, checkpoint: int, succeeds: bool) -> None:
        if isinstance(self.up, Counting):
            self.up.cuts[checkpoint] = dict(self.up.given)
        super().cut(checkpoint, succeeds)

    def turn(self) -> None:
        _, turn = self.queue[0]
        if turn.func == self.arrived and isinstance(self.up, Counting):
            attempt, body = turn.args
            if type(body) is Message and attempt.is_alive():
                self.up.given[attempt] += 1
        super().turn()


@pytest.mark.parametrize(
    "implementation", [Made(AtOnce), Made(Storing, EVERY - {Capability.UP_BLOCKED})], ids=["at once", "storing"]
)
def test_other_ways_to_be_right_are_right(implementation):
    assert slugs_of_violations(Program(COORDINATOR, implementation), 400) == set()


def test_storing_is_not_blocking():
    """The same engine claims to hold reports back in the subtasks, and is accused of that and nothing else."""
    found = slugs_of_violations(Program(COORDINATOR, Made(Storing)), 300)
    assert found == {"no-report-arrives-between-the-cut-and-the-snapshot"}


# ---- what capabilities decide ----------------------------------------------------------------------------------------
LATE_REPORT = (
    ("run", 0, 0), ("report", 0, 0), ("trigger", 1, "checkpoint"), ("turn",), ("turn",), ("cut", 1), ("turn",),
    ("inject", 1), ("barrier", 0, 0, 1), ("complete", 1),
)  # fmt: skip
"""A report is on its way from the cut of the coordinator until the checkpoint is complete."""


def test_the_gates_of_flink_do_not_keep_the_reports_together():
    """FLINK-28639: a checkpoint of Flink has the same events on both sides, and not the same reports."""
    claimed = Program(COORDINATOR, reference_v1())
    assumed = Program(COORDINATOR, reference_v1(), (Capability.UP_GATE,))
    assert slugs_of_violations(claimed, 300) == set()
    assert slugs_of_violations(assumed, 300) == {SAME_REPORTS, HOOK}
    assert {one.slug for one in COORDINATOR.properties if one.needs == {Capability.UP_GATE}} > {SAME_REPORTS, HOOK}
    config = CoordinatorScenarioConfig(1)
    assert run_scenario(claimed, config, LATE_REPORT).violation is None
    violation = run_scenario(assumed, config, LATE_REPORT).violation
    assert violation is not None
    assert violation.signature == (SAME_REPORTS, "lost", "complete")


@pytest.mark.parametrize("steps", [(), (("run", 0, 0),)], ids=["at the start", "a turn waits"])
def test_the_drain_does_what_it_must_where_few_turns_may_wait(steps):
    """It asks for its checkpoint behind an event that waits for its turn. With a limit that step had no case."""
    program = Program(COORDINATOR, reference_v1())
    run = run_scenario(program, CoordinatorScenarioConfig(most_turns=1), steps)
    assert run.violation is None
    assert len(run.performed) == len(steps)


# ---- an excuse that was too wide -------------------------------------------------------------------------------------
HELD_WHILE_AN_EVENT_IS_ON_ITS_WAY = """
--- coordinator/up.py
@@ class Closing, def flush
-        if not gate.held:
+        if not gate.held and not attempt.events:
--- coordinator/coordinator.py
@@ def deliver
         if type(body) is Message:
+            self.up.flush(one, self.up.gates[subtask, attempt])
             return body
"""
"""The search would take long to send an event behind the request to open a gate, before the request has arrived."""


def test_an_event_on_its_way_to_a_subtask_does_not_excuse_reports_that_are_held_back():
    steps = [
        ("run", 0, 0), ("turn",), ("trigger", 1, "checkpoint"), ("turn",), ("deliver", 0, 0), ("arrive", 0, 0),
        ("turn",), ("report", 0, 0), ("abort", 1), ("turn",), ("turn",), ("send", 0, 0), ("turn",), ("deliver", 0, 0),
    ]  # fmt: skip
    config = CoordinatorScenarioConfig(parallelism=1)
    wrong = changed_reference(HELD_WHILE_AN_EVENT_IS_ON_ITS_WAY)
    found = run_scenario(Program(COORDINATOR, wrong), config, steps).violation
    assert found is not None
    assert found.property.slug == "an-abort-lets-reports-go"
    assert found.step == steps[-1]
    assert run_scenario(Program(COORDINATOR, find_implementation("reference")), config, steps).violation is None
