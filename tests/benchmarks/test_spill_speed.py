"""How fast the spill store appends and drains, beside plain buffered files in the same run. No time is asserted."""

from __future__ import annotations

import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pytest

from conformance.ports import Port, SpillConfig
from reference_impl.faults import Faults
from reference_impl.state.spill.spill import Spill
from reference_impl.state.spill.storage import Storage
from reference_impl.state.spill.store import Limits, SpillWriter

pytestmark = pytest.mark.benchmark
BUFFER = bytes(range(256)) * 128
"""32 KiB, as large as a network buffer."""
BUFFERS = 32 * 1024
"""1 GiB."""
ROUNDS = 3


def plain(folder: Path) -> tuple[float, float]:
    path = folder / "plain"
    began = perf_counter()
    with path.open("xb") as file:
        for _ in range(BUFFERS):
            file.write(BUFFER)
        file.flush()
    written = perf_counter()
    with path.open("rb") as file:
        while file.read(len(BUFFER)):
            pass
    path.unlink()
    return written - began, perf_counter() - written


def spilled() -> tuple[float, float]:
    port: Port = Spill(SpillConfig((1,), 1, 1))
    storage = Storage(True, Faults(port))
    began = perf_counter()
    writer = SpillWriter(storage, Limits())
    for number in range(BUFFERS):
        writer.append(0, number >> 8, BUFFER)  # the channel changes every 8 MiB
    fetched = writer.finish()
    written = perf_counter()
    assert fetched is not None
    reader = fetched.reader()
    while reader.next(len(BUFFER)) is not None:
        reader.commit()
    reader.close()
    read = perf_counter()
    storage.clear()
    return written - began, read - written


def test_append_and_drain(capsys):
    rows = []
    with TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            rows.append((plain(Path(folder)), spilled()))
    best = [min(row[which][part] for row in rows) for which in (0, 1) for part in (0, 1)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with capsys.disabled():
        print(f"\n1 GiB in buffers of 32 KiB, best of {ROUNDS}; the whole process took {memory:.0f} MiB at most")
        for what, one, other in (("append", best[0], best[2]), ("drain", best[1], best[3])):
            print(f"  {what}: plain files {one:.2f} s, spill store {other:.2f} s, {one / other:.0%} of their speed")
        total = (best[0] + best[1]) / (best[2] + best[3])
        print(f"  both: {total:.0%} of the speed of plain files")
