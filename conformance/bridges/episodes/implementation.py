"""`episodes:COMMAND`: an engine behind an adapter as an implementation."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from conformance.bridges.episodes.adapter import Adapter
from conformance.bridges.episodes.host import Host
from conformance.bridges.episodes.port import ProgramJob
from conformance.ports import Capability, UnusableImplementation
from conformance.ports.episodes import Description, EpisodeJob, EpisodesImplementation
from conformance.ports.implementation import Factory
from conformance.system.folders import scratch

PATIENCE = 15.0
"""After how many seconds without progress waiting ends, which accuses nobody."""
_STARTS = 10
"""The same, as how many times the engine could start: one that starts slowly also begins its first job slowly."""


class Episodes(EpisodesImplementation):
    """An engine whose jobs are programs."""

    def __init__(self, command: tuple[str, ...], patience: float | None = None) -> None:
        self._adapter = Adapter(command)
        self._host = Host(self._adapter.host)
        self._patience = patience
        self._own = ExitStack()
        self._place: Path | None = None
        self._newest: Path | None = None
        self._live: ProgramJob | None = None
        self.name = f"episodes:{shlex.join(command)}"
        self.version = ""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """None: what the engine can do is in its description."""
        return frozenset()

    def components(self) -> Mapping[str, Factory]:
        """The one component."""
        return {"episode": self._make}

    def describe(self) -> Description:
        """What the adapter says of itself."""
        return self._adapter.description

    def end_run(self) -> Path:
        """Kill what the newest run has left running, and return its folder."""
        assert self._newest is not None, "nothing was run"
        self._release()
        return self._newest

    def seconds(self) -> float:
        """How many CPU seconds the process has taken that answers commands, and the host."""
        return self._adapter.seconds() + self._host.seconds()

    def close(self) -> None:
        """Kill what still runs, and delete the temporary folder."""
        self._place = None
        with ExitStack() as last_first:
            last_first.callback(self._own.close)
            last_first.callback(self._host.close)
            last_first.callback(self._adapter.close)
            last_first.callback(self._release)  # it asks the adapter what has come out

    def _release(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.release()

    def _make(self, config: EpisodeJob) -> ProgramJob:
        self._release()  # a run that has failed is not drained
        run = Path(config.location).parent if config.location else self._fresh()
        self._newest = run
        self._live = ProgramJob(self._adapter, self._host, config, run, self._for_long())
        return self._live

    def _for_long(self) -> float:
        if self._patience is not None:
            return self._patience
        return max(PATIENCE, _STARTS * self._adapter.description.start_seconds)

    def _fresh(self) -> Path:
        root = self.root
        if root is None:
            if self._place is None:
                self._place = self._own.enter_context(scratch("conformance-episodes-"))
            root = self._place
        root.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="run-", dir=root)).resolve()


def episodes(command: str = "") -> Episodes:
    """Return the implementation behind an adapter. Raises: UnusableImplementation if there is no command."""
    words = tuple(shlex.split(command))
    if not words:
        raise UnusableImplementation("An engine behind an adapter is named episodes:COMMAND.")
    return Episodes(words)
