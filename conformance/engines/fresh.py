"""Replays a scenario in a new process, so that nothing of an earlier run can influence the verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing, redirect_stdout

import msgspec
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Components, find_components
from conformance.engines.replay import ReplayVerdict, replay
from conformance.ports import Capability, find_implementation
from conformance.scenarios import Scenario, decode_scenario, encode_scenario
from conformance.scenarios.reading import decode_json

_PROGRAM = "from conformance.engines.fresh import main; main()"


class _Request(Struct, frozen=True):
    scenario: str
    implementation: str
    assume: tuple[str, ...]
    components: str


class Opinion(Struct, frozen=True):
    """The verdict of a replay in a fresh process."""

    verdict: str
    reason: str

    @property
    def confirms(self) -> bool:
        """Whether the scenario fails in the fresh process too."""
        return self.verdict == ReplayVerdict.FAILED.value


def in_fresh_process(
    scenario: Scenario, implementation: str, assume: Iterable[Capability] = (), components: Components = COMPONENTS
) -> Opinion:
    """Replay a scenario and its finding in a fresh process, on the implementation with this name.

    If the process dies, the opinion confirms nothing, and its reason says how the process ended.
    """
    request = _Request(
        encode_scenario(scenario), implementation, tuple(sorted(one.value for one in assume)), components.where
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=msgspec.json.encode(request), capture_output=True, check=False,
        env=environment,
    )  # fmt: skip
    try:
        return decode_json(done.stdout, Opinion)
    except ValueError:  # the implementation may have written to stdout, past Python
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it wrote nothing to stderr"]
        return Opinion("UNKNOWN", f"the process ended with status {done.returncode}: {lines[-1]}")


def main() -> None:
    """Read a request on stdin, write the opinion on stdout."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    with redirect_stdout(sys.stderr):
        components = find_components(request.components)
        scenario = decode_scenario(request.scenario, components, "the scenario")
        with closing(find_implementation(request.implementation)) as implementation:
            seen = replay(scenario, implementation, [Capability(one) for one in request.assume], components)
    sys.stdout.write(msgspec.json.encode(Opinion(seen.verdict.value, seen.reason)).decode())
