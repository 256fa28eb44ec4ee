"""The searches of a pytest run, each of which several processes may need and one of them runs.

The search for a component has parts: shards of the random search, and Hypothesis. The result of a part lies in a folder
that all processes of the run share. A test that needs a part that is not there runs it, under a lock; a test that comes
later waits for the lock and reads the result. So nobody waits for a test of another process, and the tests may be
distributed in any way. A process that dies leaves its lock, and the next one runs the part again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from conformance.campaigns.block import TallyRecord, decode_tally, encode_tally
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import Check, Found
from conformance.engines.tally import Failure, Tally
from conformance.ports import Capability
from conformance.scenarios import scenario_id
from conformance.scenarios.reading import decode_json, read_bytes
from conformance.system.text import neutral_line
from conformance.system.writing import NotWritten, write_text

try:
    import fcntl
except ImportError:  # Windows has no fcntl, so two processes may run the same part there, with the same result
    fcntl = None  # type: ignore[assignment]

HYPOTHESIS = "hypothesis"
"""The name of the part in which Hypothesis chooses the steps."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A part of the search for one component of one implementation."""

    implementation: str
    component: str
    name: str
    """The number of the shard, or `HYPOTHESIS`."""

    def __str__(self) -> str:
        return f"{self.implementation}-{self.component}-{self.name}"


class PartResult(Struct, frozen=True):
    """What a part of a search has found, in the form that is written to JSON."""

    tally: TallyRecord
    """With the reduced scenario of each signature, so that only tallies are added up."""
    unclaimed: dict[str, tuple[Capability, ...]]
    """By the id of a reduced scenario: the capabilities that are not claimed, and with which nothing is wrong in it."""


class Searches:
    """The results of parts in a folder."""

    def __init__(self, folder: Path, run: Callable[[Part], Check]) -> None:
        """`run` searches one part in this process."""
        self._folder = folder
        self._run = run
        self._unwritten: dict[Path, PartResult] = {}
        """Results that could not be written: only this process has them."""

    def ensure(self, part: Part) -> None:
        """Run a part, or wait for the process that runs it."""
        self._ensure(part, wait=True)

    def merged(self, program: Program, parts: Sequence[Part]) -> Check:
        """Return the sum of the parts of one component, with the shortest scenario of each signature.

        The parts that nobody runs are run first, and then those are waited for that others run.
        """
        for wait in (False, True):
            for part in parts:
                self._ensure(part, wait)
        check = self.known(program, parts)
        assert check is not None  # every part is there now
        return check

    def known(self, program: Program, parts: Sequence[Part]) -> Check | None:
        """Return the same sum, or None if a part has not been run."""
        paths = [self._path(part) for part in parts]
        if not all(path in self._unwritten or path.exists() for path in paths):
            return None
        total, unclaimed = Tally(), dict[str, tuple[Capability, ...]]()
        for path in paths:
            record = self._unwritten.get(path) or decode_json(read_bytes(path), PartResult)
            total.merge(decode_tally(record.tally, COMPONENTS))
            unclaimed |= record.unclaimed
        found = tuple(
            Found(
                signature, one.owed, one.observed, one.scenario, one.count, one.first,
                unclaimed=unclaimed.get(scenario_id(one.scenario), ()),
            )
            for signature, one in sorted(total.failures.items())
        )  # fmt: skip
        return Check(program, total, found)

    def _ensure(self, part: Part, wait: bool) -> None:
        path = self._path(part)
        if path in self._unwritten or path.exists():
            return
        with _locked(path.with_suffix(".lock"), wait) as mine:
            if mine and not path.exists():
                record = part_result(self._run(part))
                try:
                    write_text(path, msgspec.json.encode(record).decode())
                except NotWritten as error:  # the result is not lost: the tests of this process use it
                    self._unwritten[path] = record
                    warnings.warn(neutral_line(f"Other processes of this run search again: {error}"), stacklevel=2)

    def _path(self, part: Part) -> Path:
        name = hashlib.sha256(msgspec.json.encode(part)).hexdigest()[
            :16
        ]  # the name of an implementation is no file name
        return self._folder / f"{name}.json"


def part_result(check: Check) -> PartResult:
    """Return what the check of a part has found."""
    tally = Tally()
    tally.merge(check.tally)
    for one in check.found:
        tally.failures[one.signature] = Failure(one.scenario, one.owed, one.observed, one.count, one.first)
    return PartResult(
        encode_tally(tally), {scenario_id(one.scenario): one.unclaimed for one in check.found if one.unclaimed}
    )


@contextmanager
def _locked(path: Path, wait: bool) -> Iterator[bool]:
    """Hold a lock while the `with` block runs. Yield whether it was taken; without `wait`, another may have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        taken = True
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                taken = False
        yield taken
