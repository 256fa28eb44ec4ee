"""Released Flink as an `Implementation`."""

from __future__ import annotations

from types import MappingProxyType

from conformance.bridges.flink.releases import COMPONENTS, RELEASES, check_release
from conformance.bridges.flink.shim import command
from conformance.bridges.jsonl import JsonLinesImplementation
from conformance.ports import Implementation


class FlinkComponent(JsonLinesImplementation):
    """The components of one release, in a JVM that is started when it is first needed."""

    exit_statuses = MappingProxyType({239: "Flink's fatal error handler ended the JVM"})

    def __init__(self, release: str) -> None:
        """Jars and JDK are looked up later.

        Raises: UnusableImplementation if the components of this release cannot be tested.
        """
        check_release(release, COMPONENTS)
        super().__init__(())
        self.release = release

    def command(self) -> tuple[str, ...]:
        return command(self.release)


def flink_component(version: str | None = None) -> Implementation:
    """The implementation `flink-component`, or `flink-component@VERSION`.

    Raises: UnusableImplementation if the components of this version cannot be tested.
    """
    return FlinkComponent(version or RELEASES[0])
