"""What an object under test leaves that was dropped without being released, as after a violation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.bridges.flink import RELEASES, FlinkComponent, FlinkCoordinator, FlinkPipeline
from conformance.ports import (
    Alignment,
    Barrier,
    DequeConfig,
    EdgeKind,
    FilterConfig,
    FilteredGate,
    Record,
    Recovery,
    RescaleMapping,
    SubtaskCheckpointConfig,
    TaskRestoreConfig,
    Virtual,
    WriterConfig,
)
from conformance.ports.framing import size_of
from tests.bridges.conftest import skip_without

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

NEWEST = RELEASES[0]
DROPPED = 20
PAGE = 1 << 20
LOOKS = 20_000


@pytest.fixture
def flink():
    """A JVM of its own, since another one has the threads of what was there before."""
    skip_without(NEWEST)
    made = FlinkComponent(NEWEST)
    yield made
    made.close()


def write(make):
    writer = make["writer"](WriterConfig(1, 1, 5))
    writer.register(0)
    writer.start(0, 1)


def restore(make):
    task = make["task-restore"](TaskRestoreConfig((1,), ((0, 1),), (), Recovery.RECOVER_FIRST))
    task.restore()
    task.read()


def take_a_checkpoint(make):
    task = make["subtask-checkpoint"](SubtaskCheckpointConfig(10))
    task.start_inputs(1, Alignment.UNALIGNED)
    task.trigger(Barrier(1, Alignment.UNALIGNED), 0)
    task.run_async(1)


def read_a_large_record(make):
    """Its first part is in a file."""
    record = Record(1, 0, 6 * PAGE + 100)
    gate = FilteredGate(EdgeKind.HASH, RescaleMapping((0,), ((0,),), ()))
    state = (Virtual(0, 0, 0, (record,), size_of(record)),)
    port = make["filter"](FilterConfig(Recovery.IN_MEMORY, (gate,), state, 2, 0, page=PAGE, buffers=8))
    port.begin()
    port.read(0, PAGE)
    assert port.resources().files == 1


def pid_of(flink) -> int:
    pid: int = flink.client._child._started.pid
    return pid


def folder_of(flink) -> Path:
    """The temporary folder of its JVM."""
    (place,) = (Path(one.partition("=")[2]) for one in flink.client.command if one.startswith("-Djava.io.tmpdir="))
    return place


def threads_of(flink) -> int:
    return len(os.listdir(f"/proc/{pid_of(flink)}/task"))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.parametrize("leave", [write, restore, take_a_checkpoint, read_a_large_record])
def test_its_threads_end_when_another_object_is_made(flink, leave):
    make = flink.components()
    leave(make)
    before = threads_of(flink)
    for _ in range(DROPPED):
        leave(make)
    port = make["deque"](DequeConfig())
    for _ in range(LOOKS):  # nobody waits for what was dropped
        if threads_of(flink) < before + DROPPED // 2:
            return
        port.poll()
    pytest.fail(f"{threads_of(flink)} threads, {before} before")


def test_its_files_are_deleted_at_the_end(flink):
    read_a_large_record(flink.components())
    (records,) = folder_of(flink).glob("records-*")
    flink.client.close()
    assert not records.exists()


def test_it_changes_no_answer(flink):
    calls = [("new",), ("register", 0), ("start", 0, 1), ("new",), ("register", 0), ("start", 0, 1), ("resources",)]
    first, second = (flink.batch("writer", WriterConfig(1, 1, 5), calls) for _ in range(2))
    assert first == second
    assert first[1:3] == first[4:6]


@pytest.mark.parametrize("make", [FlinkComponent, FlinkCoordinator, FlinkPipeline])
def test_what_a_jvm_has_written_is_deleted_with_its_implementation(make):
    skip_without(NEWEST)
    implementation = make(NEWEST)
    place = folder_of(implementation)
    assert place.is_dir()
    implementation.close()
    assert not place.exists()
    assert folder_of(implementation).is_dir()  # it can be used again
    implementation.close()
