"""Released Flink as an `Implementation`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from conformance.bridges.flink.jvm import Jvm
from conformance.bridges.flink.releases import (
    CHANGED_PIPELINES,
    COMPONENTS,
    COORDINATORS,
    PIPELINES,
    RELEASES,
    RESCALING,
    SourceSet,
    check_release,
)
from conformance.bridges.flink.shim import MAIN_CLASS, command
from conformance.bridges.flink.stored import audit_checkpoints
from conformance.bridges.jsonl import Client, JsonLinesImplementation
from conformance.ports import Implementation, Limits, UnusableImplementation
from conformance.state_files import StateAudit
from conformance.system.folders import scratch

FATAL_EXIT = 239
"""The exit status of a JVM that Flink's `FatalExitExceptionHandler` has ended."""
RESCALING_MAIN_CLASS = "conformance.flink.rescaling.Main"
COORDINATOR_MAIN_CLASS = "conformance.flink.coordinator.Main"
PIPELINE_MAIN_CLASS = "conformance.flink.pipeline.Main"
CHANGED_PIPELINE_MAIN_CLASS = "conformance.flink.overlay.Main"
CHANGE = "FLINK-40016"
"""The ticket of the change that can be laid over a release."""
PIPELINE_MEMORY = "768m"
CLUSTER_SECONDS = 60.0
"""How long an answer of whole jobs may take, whatever the limit of a step: it may have to start a cluster, which takes
5 s on an idle machine, and more than 20 at a load of 15."""
OPENING_MICROSECONDS, COUNTING_NANOSECONDS = 80_000, 250_000
"""How long the sources of whole jobs take at most to open a split, and how long a count takes for a record."""
CLASS_PATH_VARIABLE = "CONFORMANCE_FLINK_CLASS_PATH"
"""The class path of the user's own classes, for whole jobs."""
ENUMERATOR_VARIABLE = "CONFORMANCE_FLINK_ENUMERATOR"
"""The name of the user's `SplitEnumerator`; not set: that of the suite."""
SINK_VARIABLE = "CONFORMANCE_FLINK_SINK"
"""The name of the user's `Sink` that is a `SupportsCommitter`; not set: that of the suite."""


class FlinkPrograms(JsonLinesImplementation):
    """Classes of one release, in a JVM that is started when it is first needed."""

    exit_statuses = MappingProxyType({FATAL_EXIT: "Flink's fatal error handler ended the JVM"})
    sources: ClassVar[SourceSet]
    main_class: ClassVar[str]

    def __init__(self, release: str) -> None:
        """Jars and JDK are looked up later.

        Raises: UnusableImplementation if these classes of this release cannot be tested.
        """
        check_release(release, self.sources)
        super().__init__(())
        self.release = release
        self._own = ExitStack()

    def command(self) -> tuple[str, ...]:
        return command(self.release, self.sources, self.main_class)

    @cached_property
    def client(self) -> Client:
        """Starts the JVM and sends it requests. It has a folder of its own: a JVM that is killed deletes nothing."""
        words = self.command()
        temporary = self._own.enter_context(scratch("conformance-flink-"))
        return Jvm(
            (words[0], f"-Djava.io.tmpdir={temporary}", *words[1:]),
            self.release,
            timeout_seconds=self._timeout_seconds,
            start_seconds=self._start_seconds,
            exit_statuses=self.exit_statuses,
            most_memory=self._most_memory,
        )

    def close(self) -> None:
        """End the program, and delete what it has written, also if it cannot be ended."""
        try:
            with self._own:
                super().close()
        finally:
            self.__dict__.pop("client", None)  # the next one has another folder


class FlinkComponent(FlinkPrograms):
    """The components of the network stack of one release."""

    sources = COMPONENTS
    main_class = MAIN_CLASS

    def audit(self, folder: Path) -> StateAudit:
        """Read the channel state of checkpoints that Flink has written. Raises: OSError; UnusableImplementation."""
        return audit_checkpoints(folder, self.release, Limits(self._timeout_seconds, self._most_memory >> 20))


class FlinkRescaling(FlinkPrograms):
    """What belongs to a change of parallelism, of a release whose network stack the suite does not fit."""

    sources = RESCALING
    main_class = RESCALING_MAIN_CLASS

    def audit(self, folder: Path) -> StateAudit:
        """Raises: UnusableImplementation, since the classes that read checkpoints are not fitted to this release."""
        raise UnusableImplementation(
            f"Checkpoints are not read with the classes of Flink {self.release}, but with those of "
            f"{' or '.join(RELEASES)}, which read the checkpoints of older releases, too: name flink-component."
        )


class FlinkCoordinator(FlinkPrograms):
    """The operator coordinators of one release: the real holder and gateways, and everything around them emulated."""

    sources = COORDINATORS
    main_class = COORDINATOR_MAIN_CLASS

    @property
    def batch(self) -> None:
        """None: a search goes step by step. Whole scenarios would be drawn on the reference, which sends messages that
        no release sends, so that nearly all of them would be run a second time, step by step."""
        return None


class FlinkPipeline(FlinkPrograms):
    """Whole jobs of one release: one JVM keeps a cluster, and each fresh port is a fresh job on it.

    The environment may name classes of the user's that take the place of the enumerator of the sources and of the sink.
    """

    sources = PIPELINES
    main_class = PIPELINE_MAIN_CLASS

    def __init__(self, release: str) -> None:
        super().__init__(release)
        self._timeout_seconds = CLUSTER_SECONDS

    def limit(self, limits: Limits) -> None:
        """Limit the program; an answer may always take as long as a cluster does that has to be started."""
        super().limit(Limits(max(limits.step_seconds, CLUSTER_SECONDS), limits.memory_mib))

    def command(self) -> tuple[str, ...]:
        own = os.environ.get(CLASS_PATH_VARIABLE, "")
        named = {"conformance.enumerator": ENUMERATOR_VARIABLE, "conformance.sink": SINK_VARIABLE}
        given = {name: value for name, variable in named.items() if (value := os.environ.get(variable))}
        properties = {
            "conformance.opening.micros": str(OPENING_MICROSECONDS),
            "conformance.counting.nanos": str(COUNTING_NANOSECONDS),
            **given,
        }
        return command(self.release, self.sources, self.main_class, PIPELINE_MEMORY, own, properties)

    @property
    def batch(self) -> None:
        """None: a search goes step by step, since no two runs of a job are the same."""
        return None


class FlinkPipelineWithChange(FlinkPipeline):
    """The same with a change that Flink has made since, which is made in memory when the class is loaded."""

    sources = CHANGED_PIPELINES
    main_class = CHANGED_PIPELINE_MAIN_CLASS

    @cached_property
    def version(self) -> str:  # type: ignore[override]  # as in the class above
        return f"{super().version}+{CHANGE}"


def flink_component(version: str | None = None) -> Implementation:
    """The implementation `flink-component`, or `flink-component@VERSION`: with all components that can be tested.

    Raises: UnusableImplementation if no component of this version can be tested.
    """
    release = version or RELEASES[0]
    rescaling_only = release in RESCALING.releases and release not in COMPONENTS.releases
    return FlinkRescaling(release) if rescaling_only else FlinkComponent(release)


def flink_coordinator(version: str | None = None) -> Implementation:
    """The implementation `flink-coordinator`, or `flink-coordinator@VERSION`.

    Raises: UnusableImplementation if the coordinators of this version cannot be tested.
    """
    return FlinkCoordinator(version or COORDINATORS.releases[0])


def flink_pipeline(version: str | None = None) -> Implementation:
    """The implementation `flink-pipeline`, or `flink-pipeline@VERSION`, also with a change that was made since, as in
    `flink-pipeline@2.3.0+FLINK-40016`.

    Raises: UnusableImplementation if whole jobs of this version cannot be tested.
    """
    release, _, change = (version or PIPELINES.releases[0]).partition("+")
    if change not in ("", CHANGE):
        raise UnusableImplementation(f"The change {change!r} cannot be made: this suite knows {CHANGE}.")
    return FlinkPipelineWithChange(release) if change else FlinkPipeline(release)
