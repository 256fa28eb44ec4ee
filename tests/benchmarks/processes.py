"""The CPU time of this process and of all that it has started."""

from __future__ import annotations

import os
from pathlib import Path

STAT = Path("/proc/self/stat")
"""Without it, processes cannot be summed up."""


def cpu_seconds_of_the_tree() -> float:
    """The CPU time of this process, of all its living descendants, and of those that they waited for."""
    stats = {}
    for folder in STAT.parents[1].iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            stats[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    tree = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in tree} - tree:
        tree |= more
    return sum(stats[pid][1] for pid in tree) / os.sysconf("SC_CLK_TCK")
