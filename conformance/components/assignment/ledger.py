"""The ledger of state assignment: the restore that is collected, and the last question with its answer."""

from __future__ import annotations

from conformance.components.assignment.answer import Answer
from conformance.components.assignment.config import AssignmentScenarioConfig, graph_of
from conformance.components.assignment.plan import Plan
from conformance.driver import PortLedger, Seen
from conformance.ports import Assigned, ErrorKind


class Ledger(PortLedger):
    """Phases: *collecting*; *asked* once it was asked who gets what, until the next restore is collected."""

    __slots__ = ("answer", "config", "failed_with", "plan", "question", "restores", "value")

    def __init__(self, config: AssignmentScenarioConfig) -> None:
        super().__init__()
        self.config = config
        self.restart()

    def restart(self) -> None:
        """Begins with the job of the configuration."""
        config = self.config
        self.begin_life("collecting")
        vertices = config.vertices
        self.plan = Plan(
            graph_of(vertices, config.edges), tuple([one.parallelism for one in vertices]),
            tuple([one.max_parallelism for one in vertices]), frozenset(), config.output_on_downstream,
        )  # fmt: skip
        """What is collected."""
        self.question = self.plan
        """About what it was asked last."""
        self.answer: Answer | None = None
        """What was assigned; None: the question was refused."""
        self.value: tuple[Assigned, ...] | None = None
        """The same as it came."""
        self.failed_with: ErrorKind | None = None
        self.restores = 0
        """How many restores have succeeded."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_answered(self) -> bool:
        """Returns whether the last question was not refused."""
        return self.answer is not None

    @property
    def assigned(self) -> Answer:
        """Returns what was assigned when it was asked last, which was not refused."""
        assert self.answer is not None
        return self.answer

    # ---- what the checkpoint holds, and how the job is changed -------------------------------------------------------
    def hold_input(self, vertex: int, subtask: int, gate: int, channel: int) -> None:
        """Notes that the checkpoint has state of a channel."""
        self.phase = "collecting"
        self.plan.hold_input(vertex, subtask, gate, channel)

    def hold_output(self, vertex: int, subtask: int, partition: int, subpartition: int) -> None:
        """Notes that the checkpoint has state of a subpartition."""
        self.phase = "collecting"
        self.plan.hold_output(vertex, subtask, partition, subpartition)

    def rescale(self, vertex: int, parallelism: int) -> None:
        """Notes that a vertex is restored with another parallelism."""
        self.phase = "collecting"
        self.plan.wanted[vertex] = parallelism

    def limit(self, vertex: int, max_parallelism: int) -> None:
        """Notes that a maximum parallelism is configured."""
        self.phase = "collecting"
        self.plan.limits[vertex] = max_parallelism

    def chain(self, edge: int) -> None:
        """Notes that an edge is chained."""
        self.phase = "collecting"
        self.plan.chaining |= {edge}

    # ---- the question ------------------------------------------------------------------------------------------------
    def assign(self, seen: Seen[tuple[Assigned, ...]]) -> None:
        """Notes who gets what. The next restore can be collected."""
        downstream = self.config.output_on_downstream
        self.phase = "asked"
        self.question = self.plan
        if seen.error is None:
            self.failed_with, self.value = None, seen.value
            self.answer = Answer(self.question, seen.value, downstream)
            self.plan = self.question.restored(downstream)
            self.restores += 1
        else:
            self.failed_with, self.answer, self.value = seen.error.kind, None, None
            self.plan = self.question.begun_again(downstream)
