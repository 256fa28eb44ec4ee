"""A job in processes of its own, behind an adapter."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import msgspec

from conformance.bridges.episodes.adapter import Adapter
from conformance.bridges.episodes.group import Group
from conformance.bridges.episodes.host import Guest, Host
from conformance.ports import (
    Committed,
    FaultKind,
    FaultStruck,
    JobOver,
    JobRestarted,
    JobStatus,
    Resources,
    Run,
    Transaction,
    Until,
    record,
    runs_of,
    split_of,
)
from conformance.ports.episodes import Asked, EpisodeJob, EpisodePort, Life, Output, Row, UserPlace, key_among
from conformance.system.copying import copy_folder

SINK = 2
_HELPER = Path(__file__).parent / "helper"
_TICK = 0.004
"""How long to sleep between two looks, in seconds."""
_SELDOM = 0.05
"""The same before a look that starts a process."""
_LOG = 600
_EARLY = "its processes have ended with status 0, although its input has not ended"


class ProgramJob(EpisodePort):
    """A job whose processes an adapter starts.

    In the folder of the run are the folder of the job, which is all that a kill leaves, its images, and for each start
    of the processes a log and what user code has noted.
    """

    def __init__(self, adapter: Adapter, host: Host, config: EpisodeJob, run: Path, patience: float) -> None:
        """`host`: in which lives run, if the adapter says so. `run`: an empty folder, or that in which a life before
        has run. `patience`: after how many seconds without progress waiting ends."""
        self._adapter, self._host, self._config = adapter, host, config
        self._run, self._patience = run, patience
        self._folder, self._plan = run / "job", run / "plan.json"
        self._group: Group | None = None
        self._status: JobStatus | None = None
        self._released = False
        self._armed: list[tuple[str, str, int]] = []
        self._active: tuple[str, str, int] | None = None
        self._restored = False
        self._survives = False
        """Whether what has struck is no reason to end, since the engine restarts the job in the same process."""
        self._stopping = self._saving = False
        """Whether this life was asked to stop, and whether with a savepoint."""
        self._stands = False
        """Whether user code stands still where it is to be killed, since its process is a host."""
        self._known: Counter[Row] = Counter()
        """The rows that were signalled as committed, also in earlier lives."""
        self._splits = config.job.vertices[0].splits
        if not config.location:
            self._begin()
        else:
            self._take_over(Path(config.location))
        self._there = [
            len((self._folder / "in" / f"{split}.jsonl").read_bytes().splitlines()) for split in range(self._splits)
        ]
        self._number = len(list(run.glob("life-*.log")))
        self._before: int | None = None
        if config.location and adapter.description.promises.committed:
            self._report(True, self._number - 1)  # what was written between the last look and the image

    def _begin(self) -> None:
        (self._folder / "in").mkdir(parents=True)
        for split in range(self._splits):
            (self._folder / "in" / f"{split}.jsonl").touch()
        plan = {"splits": self._splits, "keys": self._config.keys, "knobs": dict(self._config.knobs)}
        self._plan.write_text(json.dumps(plan), encoding="utf-8")
        self._adapter.prepare(self._folder, self._plan)

    def _take_over(self, location: Path) -> None:
        if location != self._folder:  # an image: it takes the place of the folder, since paths may be in its files
            number = len(list(self._run.glob("left-*")))
            self._folder.rename(self._run / f"left-{number}")
            copy_folder(location, self._folder)
        self._known = Counter(msgspec.json.decode(_beside(location).read_bytes(), type=list[Row]))
        for split in range(self._splits):
            if (self._run / "finished").exists():
                (self._folder / "in" / f"{split}.end").unlink(missing_ok=True)
        (self._run / "finished").unlink(missing_ok=True)

    # ---- the world ---------------------------------------------------------------------------------------------------
    def supply(self, split: int, count: int) -> None:
        first, keys = self._there[split], self._config.keys
        lines = [
            json.dumps({"id": one, "key": key_among(one, keys)}) + "\n"
            for one in range(record(split, first), record(split, first + count))
        ]
        with (self._folder / "in" / f"{split}.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(lines))
        self._there[split] += count
        self._look()

    def end(self, source: int) -> None:
        for split in range(self._splits):
            (self._folder / "in" / f"{split}.end").touch()
        self._look()

    def _has_ended(self) -> bool:
        return all((self._folder / "in" / f"{split}.end").exists() for split in range(self._splits))

    def fault(self, place: str, kind: FaultKind, nth: int = 1) -> bool:
        if UserPlace(place) not in self._adapter.description.places:
            return False
        self._armed.append((place, kind.value, nth))
        return True

    # ---- waiting -----------------------------------------------------------------------------------------------------
    def settle(self, until: Until) -> bool:
        self._start()
        if until is Until.OVER:
            return self._wait(lambda changed: self._status is not None)
        if until is Until.IDLE:
            return self._wait(
                lambda changed: changed and self._is_all_out(),
                _TICK,
                min(self._adapter.description.start_seconds, self._patience),
            )
        if not self._adapter.description.checkpoints:
            return False

        def has_completed(changed: bool) -> bool:
            return changed and self._adapter.checkpoints(self._folder) != self._before

        return self._wait(has_completed, _SELDOM, min(self._adapter.description.start_seconds, self._patience))

    def checkpoint(self) -> Asked:
        self._start()
        life, out = self._number, self._out()
        if self._status is not None:
            return Asked(False)
        due = self._adapter.checkpoint(self._folder)

        def has_completed(changed: bool) -> bool:
            return self._number != life or (self._adapter.checkpoints(self._folder) or 0) >= due

        came = self._wait(has_completed, _SELDOM, min(self._adapter.description.start_seconds, self._patience))
        return Asked(came and self._number == life, life, out)

    def savepoint(self) -> Asked:
        self._start()
        life = self._number
        if self._status is not None:
            return Asked(False)
        self._saving = True
        return Asked(self._stopped(self._adapter.savepoint), life, self._out())

    def stop(self) -> bool:
        self._start()
        return self._status is None and self._stopped(self._adapter.stop)

    def _stopped(self, ask: Callable[[Path], None]) -> bool:
        """Returns whether this life has ended once it was asked to."""
        life = self._number
        self._stopping = True
        ask(self._folder)
        self._wait(lambda changed: self._status is not None or self._number != life)
        return self._status is JobStatus.CANCELED

    def advance(self, milliseconds: int) -> None:
        self._start()
        late = time.monotonic() + milliseconds / 1000
        while self._status is None and time.monotonic() < late:
            self._look()
            time.sleep(min(_TICK, max(0.0, late - time.monotonic())))

    def _wait(self, has_come: Callable[[bool], bool], tick: float = _TICK, patience: float = 0.0) -> bool:
        """Waits until something holds, which is asked whether something has changed. Returns False if the job is over
        before, or nothing changes for too long, unless it holds then: progress need not show everything."""
        last: object = None
        since = time.monotonic()
        while True:
            self._look()
            now = (self._number, self._adapter.progress(self._folder))
            changed, last = now != last, now
            if has_come(changed):
                return True
            if self._status is not None:
                return False
            if changed:
                since = time.monotonic()
            elif time.monotonic() - since > (patience or self._patience):
                return has_come(True)
            time.sleep(tick)

    def _out(self) -> tuple[int, ...]:
        """Returns by split the position behind the last of its records that has come out."""
        out = [0] * self._splits
        for one in self._adapter.rows(self._folder):
            if (split := split_of(one.record)) in range(self._splits):
                out[split] = max(out[split], one.record - record(split, 0) + 1)
        return tuple(out)

    def _is_all_out(self) -> bool:
        return len({one.record for one in self._adapter.rows(self._folder)}) >= sum(self._there)

    # ---- the processes -----------------------------------------------------------------------------------------------
    def _start(self) -> None:
        """Starts the processes, unless they have been started."""
        if self._group is not None or self._status is not None or self._released:
            return
        self._before = self._adapter.checkpoints(self._folder)
        self._restored = self._survives = self._stands = False
        self._active = self._armed.pop(0) if self._armed else None
        armed = "" if self._active is None else ":".join(map(str, self._active))
        path = os.pathsep.join(filter(None, (str(_HELPER), os.environ.get("PYTHONPATH", ""))))
        env = {**os.environ, "PYTHONPATH": path, "EPISODE_NOTES": str(self._notes()), "EPISODE_ARMED": armed}
        env.setdefault("PYTHONDONTWRITEBYTECODE", "1")
        commands = self._adapter.start(self._folder, self._plan, self._config.job.vertices[0].parallelism)
        log = self._run / f"life-{self._number}.log"
        try:
            if self._adapter.description.host:
                self._group = Guest(self._host, commands, self._folder, log, env)
            else:
                self._group = Group(commands, self._folder, log, env)
        except OSError as error:
            log.write_text(str(error), encoding="utf-8")
            self._over(JobStatus.FAILED, f"it cannot be started: {error}")

    def _notes(self) -> Path:
        return self._run / f"life-{self._number}.notes"

    def _noted(self) -> list[str]:
        try:
            return self._notes().read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    def _look(self) -> None:
        """Looks what has become of the processes."""
        if self._group is None or self._status is not None or self._released:
            return
        statuses = self._group.statuses()
        struck = self._hear_notes()
        if None in statuses and not any(statuses) and not self._stands:
            return
        self._group.kill()
        struck |= self._hear_notes()
        if not any(statuses) and None not in statuses:
            if self._stopping:
                self._over(JobStatus.CANCELED)
            else:
                self._over(JobStatus.FINISHED, "" if self._has_ended() else _EARLY)
        elif struck:
            self._report(self._adapter.description.promises.committed)
            self._group = None
            self._stopping = self._saving = False
            self._number += 1
            self.emit(JobRestarted(0, (Run(0, len(self._config.job.tasks()) - 1),)))
            self._start()
        else:
            text = (self._run / f"life-{self._number}.log").read_bytes()[-_LOG:].decode("utf-8", "replace").strip()
            shown = next(iter(text.splitlines()[-1:]), "")
            ends = ", ".join(str(one) for one in statuses if one is not None)
            self._over(JobStatus.FAILED, f"exit status {ends}: {shown}")

    def _hear_notes(self) -> bool:
        """Notes what user code says. Returns whether the armed fault has struck in this life, and may have ended it."""
        noted = self._noted()
        self._restored |= "restored" in noted
        struck = any(one.startswith("struck ") for one in noted)
        if struck and self._active is not None:
            place, kind, _ = self._active
            self.emit(FaultStruck(place, FaultKind(kind)))
            self._active = None
            self._stands = kind == FaultKind.ENDS and self._adapter.description.host
            self._survives = kind == FaultKind.THROWS and self._adapter.description.promises.restarts
        return struck and not self._survives

    def _over(self, status: JobStatus, cause: str = "") -> None:
        is_final = status is JobStatus.FINISHED or (self._saving and status is JobStatus.CANCELED)
        # A program that has damaged its output may end with status 0. What is not final may still be cut back.
        if is_final and (unreadable := self._adapter.unreadable(self._folder)):
            status, cause, is_final = JobStatus.FAILED, unreadable, False
        self._status = status
        if status is JobStatus.FINISHED:
            (self._run / "finished").touch()
        self._report(is_final or self._adapter.description.promises.committed)
        self.emit(JobOver(status, cause))

    def _report(self, committed: bool, life: int | None = None) -> None:
        """Signals the rows that are new, if they are committed, as those of this life or of another one."""
        if not committed:
            return
        there = Counter(self._adapter.rows(self._folder))
        new = there - self._known
        self._known |= there
        if self._adapter.description.promises.output is Output.ONCE_PER_BATCH:
            for batch in sorted({one.batch for one in new}):
                self._signal(Transaction(0, batch), [one.record for one in there.elements() if one.batch == batch])
        elif new:
            self._signal(Transaction(self._number if life is None else life, 0), [one.record for one in new.elements()])

    def _signal(self, transaction: Transaction, records: list[int]) -> None:
        runs = [run for _, some in groupby(sorted(records), key=split_of) for run in runs_of(some)]
        self.emit(Committed(SINK, transaction, tuple(runs)))

    # ---- what is observed --------------------------------------------------------------------------------------------
    def rows(self, sink: int) -> tuple[Row, ...]:
        self._look()
        return self._adapter.rows(self._folder)

    def life(self) -> Life:
        self._look()
        now = self._adapter.checkpoints(self._folder)
        completed = None if now is None or self._before is None else now - self._before
        begins: dict[int, int] = {}
        for one in self._noted():
            if one.startswith("begins "):
                split, position = map(int, one.split()[1:])
                begins[split] = min(position, begins.get(split, position))
        return Life(self._number, self._restored, completed, begins)

    def image(self) -> str:
        if self._released:
            return str(self._folder)
        self._start()
        self._look()
        if self._group is None or self._status is not None:
            return ""
        place = self._run / f"image-{len(list(self._run.glob('image-*/')))}"
        try:
            if not self._group.stop():
                return ""
            copy_folder(self._folder, place)
        finally:
            self._group.go_on()
        self._keep(place)
        return str(place)

    def _keep(self, location: Path) -> None:
        """Writes beside what is left which rows were signalled."""
        _beside(location).write_bytes(msgspec.json.encode(list(self._known.elements())))

    def resources(self) -> Resources:
        running = 0 if self._group is None or self._released else sum(one is None for one in self._group.statuses())
        return Resources(files=0, listeners=running)

    def release(self) -> None:
        if self._released:
            return
        self._look()
        if self._group is not None:
            self._group.kill()
            self._hear_notes()
        if self._status is None:
            self._report(self._adapter.description.promises.committed and self._group is not None)
        self._released = True
        self._keep(self._folder)


def _beside(location: Path) -> Path:
    return location.parent / f"{location.name}.rows.json"
