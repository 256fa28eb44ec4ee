"""State assignment behind its port. Specification: assignment.md."""

from __future__ import annotations

from conformance.ports import Assigned, AssignmentConfig, AssignmentPort, Resources

from .job import Connection, Job, Restore
from .state_assignment import StateAssignment


class Assignment(AssignmentPort):
    """The job master of one job, restore after restore."""

    def __init__(self, config: AssignmentConfig) -> None:
        self.output_on_downstream = config.output_on_downstream
        self.job = Job(config)
        self.restore = Restore(list(self.job.parallelism))
        """Restore: the one that is collected, or about which it was asked."""
        self.asked = False
        """Asked: whether the question was asked."""
        self.succeeded = False
        """Succeeded: whether it had an answer."""

    def collecting(self) -> Restore:
        """A15. The restore that is collected: after a question, the next one."""
        if self.asked:
            if self.succeeded:
                self.job.restored(self.restore)
            self.restore = Restore(list(self.job.parallelism))
            self.asked = self.succeeded = False
        return self.restore

    # ---- what the checkpoint holds -----------------------------------------------------------------------------------
    def hold_input(self, vertex: int, subtask: int, gate: int, channel: int) -> None:
        """A1, A3. The gate says which edge it is."""
        hold(self.collecting().inputs, self.job.gates[vertex][gate], subtask, channel)

    def hold_output(self, vertex: int, subtask: int, partition: int, subpartition: int) -> None:
        """A1, A3. The partition says which edge it is."""
        hold(self.collecting().outputs, self.job.partitions[vertex][partition], subtask, subpartition)

    # ---- how the job is changed --------------------------------------------------------------------------------------
    def rescale(self, vertex: int, parallelism: int) -> None:
        """A15. The vertex gets another parallelism, or the one that it had."""
        self.collecting().parallelism[vertex] = parallelism

    def limit(self, vertex: int, max_parallelism: int) -> None:
        """A9, A15. The maximum parallelism of a vertex is configured."""
        self.collecting().limits[vertex] = max_parallelism

    def chain(self, edge: int) -> None:
        """A9, A15. An edge is chained."""
        restore = self.collecting()
        restore.chained = restore.chained | {edge}

    # ---- who gets what -----------------------------------------------------------------------------------------------
    def assign(self) -> tuple[Assigned, ...]:
        """A10, A15. The same question has the same answer: nothing is used up by it."""
        self.asked = True
        found = StateAssignment(self.job, self.restore, self.output_on_downstream).assign()
        self.succeeded = True
        return found

    def resources(self) -> Resources:
        """A15. A job master holds nothing that this suite counts."""
        return Resources(0, 0, 0, 0, 0, 0, 0)

    def release(self) -> None:
        """A15. There is nothing to give back."""


def hold(held: dict[int, dict[int, list[int]]], edge: Connection, subtask: int, number: int) -> None:
    """A1, A3. There is state of a channel, or of a subpartition, of this edge."""
    held.setdefault(edge.number, {}).setdefault(subtask, []).append(number)
