"""Whoever a process starts ends with it, wherever it hides."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from conformance.system.processes import Started

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")

TREE = """
import os, sys, time
for leaves_the_group in (False, True):
    if not os.fork():
        if leaves_the_group:
            os.setsid()
            if os.fork():
                os._exit(0)
        os.write(1, b"stays\\n")
        time.sleep(600)
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
    assert len(bearing(one.mark)) >= 2
    assert one.kill() == status
    assert bearing(one.mark) == []
    # A zombie that left the group, and was adopted before the process ended, cannot be told from a child of others.
    assert not [pid for pid in children() - before if status is None or is_alive(pid)]
    assert one.kill() == status


ORPHAN = """
import os, time
if os.fork():
    time.sleep(0.1)
    os._exit(0)
hold = bytearray(200 << 20)
hold[::4096] = bytes(len(hold[::4096]))  # pages in use: the operating system needs a while to take them back
os.write(1, b"%d\\n" % os.getpid())
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


def test_what_a_killed_process_left_is_ended_by_the_next_one():
    """The driver is killed, and its program ignores the end of its input."""
    script = (
        "import subprocess, sys, time\nfrom conformance.system.processes import Started\n"
        "one = Started([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(one.pid, flush=True)\ntime.sleep(600)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    left = int(driver.stdout.readline())
    driver.kill()
    driver.wait()
    assert os.path.exists(f"/proc/{left}")
    script = "import sys\nfrom conformance.system.processes import Started\nStarted([sys.executable, '-c', '']).kill()"
    subprocess.run([sys.executable, "-c", script], check=True)
    for _ in range(200):
        if not is_alive(left):
            return
        time.sleep(0.01)
    raise AssertionError("it is still there")


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
