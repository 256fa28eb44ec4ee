"""What a process starts ends with it, wherever it hides."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from conformance.system import processes
from conformance.system.processes import Started

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose orphans they are")

TREE = """
import os, sys, time
def stay():
    os.write(1, b"stays\\n")
    os.write(ready, b".")
    time.sleep(600)
waiting, ready = os.pipe()
for leaves_the_group in (False, True):
    if not os.fork():
        if leaves_the_group:
            os.setsid()
            if os.fork():
                os._exit(0)
        stay()
for _ in range(2):
    os.read(waiting, 1)
{then}
"""


def tree(then: str) -> Started:
    one = Started([sys.executable, "-c", TREE.format(then=then)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert one.process.stdout is not None
    # Each of the two that stay says so itself: the second is the child of a child.
    assert [one.process.stdout.readline() for _ in range(2)] == [b"stays\n"] * 2
    return one


def bearing(mark: str) -> list[int]:
    """The processes that bear a mark; a zombie bears none."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def children() -> set[int]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(name))
    return found


@pytest.mark.parametrize(
    ("then", "status"), [("time.sleep(600)", None), ("os._exit(3)", 3)], ids=["goes on", "exits first"]
)
def test_nobody_is_left_behind(then, status):
    before = children()
    one = tree(then)
    if status is not None:
        assert one.wait(10)
    assert (len(bearing(one.mark)) >= 2) == (status is None)  # what it left ends with it
    assert one.kill() == status
    assert bearing(one.mark) == []
    # A zombie that left the group, and was adopted before the process ended, cannot be distinguished from a child of
    # others.
    assert not [pid for pid in children() - before if status is None or is_alive(pid)]
    assert one.kill() == status


ORPHAN = """
import os, time
waiting, ready = os.pipe()
if os.fork():
    os.read(waiting, 1)
    os._exit(0)
hold = bytearray(200 << 20)
hold[::4096] = bytes(len(hold[::4096]))  # pages in use: the operating system needs a while to take them back
os.write(1, b"%d\\n" % os.getpid())
os.write(ready, b".")
time.sleep(600)
"""


def test_a_process_that_takes_a_while_to_die_is_waited_for():
    """It bears no mark any more, and it is nobody's child that was listed: it only belongs to the group."""
    one = Started([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE)
    assert one.process.stdout is not None
    orphan = int(one.process.stdout.readline())
    assert one.wait(10)
    one.kill()
    assert not os.path.exists(f"/proc/{orphan}")


def test_an_exit_leaves_the_number_of_the_process_alone_until_it_is_killed():
    one = Started([sys.executable, "-c", "raise SystemExit(7)"])
    assert one.wait(10)
    assert one.has_ended()
    assert one.process.returncode is None
    assert one.kill() == 7


DAEMON = """
import os, sys, time
def become_a_daemon():
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, "-c", STAYS], {})
STAYS = "import os, time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(600)"
if not os.fork():
    become_a_daemon()
"""
"""Makes a process of its own session, without a parent and without an environment."""


@linux
@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.stdin.read(); os._exit(3)"], ids=["goes on", "exits first"])
def test_a_daemon_without_an_environment_ends_with_what_started_it(then):
    one = Started([sys.executable, "-c", DAEMON + then], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert one.process.stdout is not None
    assert one.process.stdin is not None
    daemon = int(one.process.stdout.readline())
    assert is_alive(daemon)
    one.process.stdin.close()
    if "exit" in then:
        assert one.wait(10)
        assert not is_alive(daemon)
    assert one.kill() == (3 if "exit" in then else None)
    assert not is_alive(daemon)


DRIVER = """
import subprocess, sys, time
from conformance.system.processes import Started
one = Started([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
print(int(one.process.stdout.readline()), one.pid, one.process.pid, flush=True)
time.sleep(600)
"""


@linux
def test_what_a_killed_driver_has_started_ends_at_once_wherever_it_hides():
    """Nobody starts another process, which would end what bears the mark of a dead one."""
    command = [sys.executable, "-c", DRIVER, DAEMON + "time.sleep(600)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        everybody = [int(pid) for pid in driver.stdout.readline().split()]
        assert all(map(is_alive, everybody))
        driver.kill()
    assert ended(everybody)


@linux
def test_a_program_whose_supervisor_is_killed_ends_and_is_reported():
    one = Started([sys.executable, "-c", TREE.format(then="time.sleep(600)")], stdout=subprocess.PIPE)
    assert one.process.stdout is not None
    assert [one.process.stdout.readline() for _ in range(2)] == [b"stays\n"] * 2
    os.kill(one.process.pid, signal.SIGKILL)
    assert one.wait(10)
    assert one.kill() == -signal.SIGKILL
    assert bearing(one.mark) == []
    assert ended([one.pid])


@linux
def test_a_supervisor_that_is_stopped_does_not_stop_the_end(monkeypatch):
    monkeypatch.setattr(processes, "_PATIENCE_SECONDS", 0.1)
    one = Started([sys.executable, "-c", "import time; time.sleep(600)"])
    os.kill(one.process.pid, signal.SIGSTOP)
    assert one.kill() is None
    assert ended([one.pid])


def test_a_command_that_does_not_exist_is_an_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Started(["./nobody"], cwd=tmp_path)
    assert caught.value.filename == "./nobody"
    with pytest.raises(FileNotFoundError) as caught:
        Started([sys.executable], cwd=tmp_path / "nowhere")
    assert caught.value.filename == tmp_path / "nowhere"


def test_a_program_sees_what_it_would_see_alone():
    """It has the descriptors that it was given and no others, its own group, and no signal is ignored."""
    given, other = os.pipe()
    look = "import os, signal; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getpgrp() == os.getpid(), "
    look += "[line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))], file=open(1, 'w'))"
    alone = subprocess.run(
        [sys.executable, "-c", look], stdout=subprocess.PIPE, process_group=0, pass_fds=(given,), check=True
    )
    one = Started([sys.executable, "-c", look], stdout=subprocess.PIPE, pass_fds=(given,))
    assert one.process.stdout is not None
    assert one.process.stdout.read() == alone.stdout
    assert one.wait(10)
    assert one.kill() == 0
    os.close(given)
    os.close(other)


def ended(pids: Sequence[int]) -> bool:
    for _ in range(1_000):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.01)
    return False


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_memory_counts_what_it_starts():
    hold = "import os, sys, time\nif os.fork(): pass\nhold = bytearray(60 << 20)\nprint(flush=True)\ntime.sleep(600)"
    one = Started([sys.executable, "-c", hold], stdout=subprocess.PIPE)
    assert one.process.stdout is not None
    one.process.stdout.readline()
    one.process.stdout.readline()
    assert 120 << 20 < one.memory() < 400 << 20
    one.kill()
    assert one.memory() == 0


def test_who_is_just_becoming_another_program_is_killed_too(monkeypatch):
    """It has no environment for a moment, and so no mark."""
    mark, env = processes.with_mark(os.environ)
    started = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"], env=env)
    looks, marked = iter([True]), processes._marked
    monkeypatch.setattr(processes, "_marked", lambda: () if next(looks, False) else marked())
    try:
        processes.end_marked(mark, set())
        assert not is_alive(started.pid)
    finally:
        started.kill()
        started.wait()
