"""Does works with a runner, and keeps each result in a folder as soon as it is there, so that a stop loses little.

    DIR/plan.json           what kind of works these are, and the code that does them (`WorksPlan`)
    DIR/results/HASH.json   the result of a work, by a hash of the work (`Done`)
    DIR/driver.lock         locked by the process that does works

A result depends on its work and on the code alone. So it stays true whatever else is asked for, and the same command,
or one that asks for more, does the works that have no result.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

from conformance.campaigns import files
from conformance.campaigns.code import Code, code_by_names
from conformance.campaigns.errors import CampaignError
from conformance.campaigns.lock import held
from conformance.campaigns.names import Names, name_of, object_of
from conformance.campaigns.plan import SCHEMA
from conformance.campaigns.runners import Runner, Say
from conformance.campaigns.seal import is_sealed
from conformance.campaigns.shapes import shaped
from conformance.engines.interruption import NEVER, Interruption, until
from conformance.engines.position import unfollowed
from conformance.engines.works import Over, Work
from conformance.ports import UnusableImplementation
from conformance.scenarios import SchemaError, canonical
from conformance.system.writing import make_folder, told_by

DIED = "the process that did it died each time"

Told = Callable[[int], None]
"""Called with the number of works that have a result."""


class WorksPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """What a folder of works is about. It is the content of its `plan.json`."""

    works: str
    """What they are, as `known bugs`."""
    code: Code
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA

    @property
    def digest(self) -> str:
        """The first 16 hex digits of a hash of this. Each result names that of its plan."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]


class Given(Struct, frozen=True):
    """A work as it is sent and kept."""

    kind: str
    """Its class, as `module:name`."""
    about: dict[str, Any]
    """Its fields."""


class Done(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a work. It is the content of a file, or what is sent to the driver."""

    work: Given
    result: Any
    seconds: float
    """How long it took."""
    why: str | None = None
    """Why there is no result; None if there is one. Only results are kept."""
    plan: str = ""
    """The digest of the plan. Set when it is kept, as the checksum is."""
    checksum: str = ""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


class Doing(Struct, frozen=True):
    """The function that does works. An error makes a work one without a result."""

    @contextmanager
    def ready(self, names: Names) -> Iterator[Callable[[Given], Done]]:
        """See `Function`."""

        def do(given: Given) -> Done:
            work: Work[Any] = shaped(given.about, object_of(given.kind), names.components)
            began = time.monotonic()
            try:
                result = work.do(NEVER, unfollowed)
            except UnusableImplementation:
                raise
            except (Exception, SystemExit) as error:
                if (refused := told_by(error)) is not None:
                    raise refused from error
                return Done(given, None, 0.0, f"{type(error).__name__}: {error}")
            return Done(given, msgspec.to_builtins(result), time.monotonic() - began)

        yield do

    def given_up(self, work: Given, why: str | None, names: Names) -> Done:
        """See `Function`."""
        return Done(work, None, 0.0, why or DIED)

    def read(self, work: Given, data: bytes, names: Names) -> Done:
        """See `Function`."""
        return msgspec.json.decode(data, type=Done)

    def about(self, work: Given) -> str:
        """See `Function`."""
        return work_in_words(work)


def work_in_words(work: Given) -> str:
    """Return the name of a work in messages: its class and the fields that are texts or numbers."""
    plain = (f"{name} {value}" for name, value in work.about.items() if isinstance(value, str | int))
    return f"{work.kind.rpartition(':')[2].lower()} ({', '.join(plain)})"


class Agenda:
    """The works that are left, those first that take longest by what was measured so far.

    No result depends on the order; it is for the end, at which no core should wait long for the last one.
    """

    def __init__(self) -> None:
        self._left: dict[tuple[str, ...], deque[Given]] = {}
        self._measured: dict[str, tuple[float, int]] = {}

    def add(self, given: Given, topics: tuple[str, ...]) -> None:
        """Add a work that has these topics."""
        self._left.setdefault(topics, deque()).append(given)

    def measure(self, topics: tuple[str, ...], seconds: float) -> None:
        """Take into account how long a work with these topics took."""
        for topic in ("", *topics):
            total, count = self._measured.get(topic, (0.0, 0))
            self._measured[topic] = total + seconds, count + 1

    def __iter__(self) -> Iterator[Given]:
        """Yield the works."""
        while self._left:
            topics = max(self._left, key=self._cost)
            works = self._left[topics]
            given = works.popleft()
            if not works:
                del self._left[topics]
            yield given

    def _cost(self, topics: tuple[str, ...]) -> float:
        """Return about how long a work takes: as long as others with its finest topic that was measured."""
        for topic in (*topics, ""):
            if topic in self._measured:
                total, count = self._measured[topic]
                return total / count
        return 0.0


class Folder:
    """A folder of results. The caller holds its lock."""

    def __init__(self, path: Path, works: str, names: Names) -> None:
        """Make the folder, or go on with it.

        Raises: CampaignError if it is that of other works, or other code has written it; SchemaError if its plan is
        damaged; NotWritten.
        """
        self._path, self._names = path, names
        self._plan = plan = WorksPlan(works, code_by_names((), names))
        home = files.own(path, files.PLAN)
        files.own(path, files.RESULTS)
        files.tidy(path)
        if not home.exists():
            files.check_empty(path)
            files.write(home, plan)
        written = files.read(home, WorksPlan)
        if written.works != works:
            raise CampaignError(
                f"{path} has results about {written.works}, and not about {works}. Name another folder."
            )
        if changes := written.code.changes(plan.code):
            raise CampaignError(f"{path} was written by other code: {changes[0]}. Delete it, or name another folder.")
        make_folder(path / files.RESULTS)
        for part in (path / files.RESULTS).glob(".*.part"):
            part.unlink(missing_ok=True)

    def known(self, given: Given) -> Done | None:
        """Return what is kept of a work; None if it has no result. Raises: SchemaError if the file is damaged."""
        path = self._file(given)
        if not path.exists():
            return None
        done, data = files.read_with_bytes(path, Done)
        if done.plan != self._plan.digest or not is_sealed(data) or canonical(done.work) != canonical(given):
            raise SchemaError(
                f"{path}: this is not the result that its name says, or not as it was written. {files.cure(path)}"
            )
        return done

    def result(self, given: Given, kind: type[Work[Any]]) -> Any:
        """Return the result of a work of this class; None if it has none. Raises: as `known`."""
        done = self.known(given)
        if done is None:
            return None
        try:
            return shaped(done.result, get_type_hints(kind.do)["return"], self._names.components)
        except (msgspec.ValidationError, LookupError) as error:
            path = self._file(given)
            raise SchemaError(f"{path}: this is not what {given.kind} comes to: {error}. {files.cure(path)}") from None

    def keep(self, done: Done) -> None:
        """Write a result. Raises: NotWritten; CampaignError if a folder on the way is a link."""
        kept = msgspec.structs.replace(done, plan=self._plan.digest)
        files.write_sealed(self._path, self._file(done.work), kept)

    def _file(self, given: Given) -> Path:
        return self._path / files.RESULTS / f"{hashlib.sha256(canonical(given).encode()).hexdigest()[:32]}.json"


@contextmanager
def into(
    path: Path, works: str, runner: Runner, told: Told, say: Say, interruption: Interruption = NEVER
) -> Iterator[Over]:
    """Yield what does works with a runner and keeps their results in a folder, unless they are there already.

    A work that cannot be done has no result; `say` is called with the reason. After an interruption, no other work is
    begun. `works`: what they are. Raises: CampaignError; RunnerUnavailable; SchemaError; NotWritten.
    """
    path = Path(path)
    if not (path / files.PLAN).exists():
        files.check_empty(path)
    make_folder(path)
    with held(path), ExitStack() as closing:
        folder, count = Folder(path, works, runner.names), 0
        opened = cache(lambda: closing.enter_context(runner.doing()))

        def over(asked: Sequence[Work[Any]]) -> Iterator[Any]:
            nonlocal count
            given = [_given(work) for work in asked]
            topics = {canonical(one): work.topics for one, work in zip(given, asked, strict=True)}
            agenda = Agenda()
            for one, work in zip(given, asked, strict=True):
                if (known := folder.known(one)) is None:
                    agenda.add(one, work.topics)
                else:
                    agenda.measure(work.topics, known.seconds)
                    count += 1
            told(count)

            def keep(one: Given, done: Done) -> None:
                nonlocal count
                if done.why is not None:
                    say(f"{work_in_words(one)} has no result: {done.why}")
                    return
                folder.keep(done)
                agenda.measure(topics[canonical(one)], done.seconds)
                count += 1
                told(count)

            left = iter(agenda)
            if (first := next(left, None)) is not None and not interruption.requested:
                opened().do(Doing(), until(interruption, chain((first,), left)), keep, say)
            for one, work in zip(given, asked, strict=True):
                yield folder.result(one, type(work))

        yield over


def _given(work: Work[Any]) -> Given:
    about: dict[str, Any] = msgspec.to_builtins(work)
    return Given(name_of(type(work)), about)
