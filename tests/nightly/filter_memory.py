"""What a fetch of large state takes of memory: `python -m tests.nightly.filter_memory DESIGN MIB` prints the peak.

The state is made while it is read: records of 8 MiB and less, of which about half are kept, in two virtual channels of
which chunks alternate. The task takes each buffer as soon as the fetch must wait.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from itertools import cycle, islice

from conformance.driver.turns import whole
from conformance.ports import Recovery, RescaleMapping, Virtual
from conformance.ports.framing import Record, encode
from tests.filtering.task import Task

PAGE = 1 << 15
SIZES = (8 << 20, 100_000, 5 << 20, 17, (8 << 20) - 1)


class Generated:
    """The bytes of records, which are made when they are read."""

    def __init__(self, first: int, rounds: int) -> None:
        self.records = self.make(first, rounds)
        self.open = b""
        self.at = 0

    @staticmethod
    def make(first: int, rounds: int) -> Iterator[bytes]:
        for number, size in enumerate(islice(cycle(SIZES), rounds * len(SIZES)), first):
            yield encode(Record(number, number * 2_654_435_761 % (1 << 31), size))

    def read(self, count: int) -> bytes:
        if self.at == len(self.open):
            self.open, self.at = next(self.records, b""), 0
        part = self.open[self.at : self.at + count]
        self.at += len(part)
        return part


class Counting(Task):
    """A task that only counts what it takes."""

    taken = 0

    def take_all(self) -> None:
        """Take everything, and give it back."""
        super().take_all()
        self.taken += len(self.found[0, 0])
        self.found[0, 0].clear()


def recover(recovery: Recovery, mebibytes: int) -> str:
    """Recovers so much. Returns what was recovered, and the peak of this process."""
    rounds = -(-(mebibytes << 20) // (2 * sum(SIZES)))
    total = rounds * sum(SIZES)
    task = Counting(
        *(Virtual(0, subtask, 0, (), total) for subtask in (0, 1)),
        recovery=recovery, mapping=RescaleMapping((0, 1), ((0,),), (0, 1)), page=PAGE, files=True,
        sources=[Generated(0, rounds), Generated(1 << 20, rounds)],
    )  # fmt: skip
    for at in range(0, total, PAGE):
        for virtual in (0, 1):
            task.read(virtual, min(PAGE, total - at))
    whole(task.port.end())
    while recovery is Recovery.PUSHED and task.consume("drain", task.port.drain()):
        pass
    task.take_all()
    task.port.release()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{recovery}: {2 * total >> 20} MiB read, {task.taken} records taken, {peak} KiB at most"


if __name__ == "__main__":
    print(recover(Recovery(sys.argv[1]), int(sys.argv[2])))
