"""Programs that speak the protocol, well or badly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.bridges.flink import RELEASES, FlinkCoordinator, flink_component
from conformance.bridges.flink.implementation import CLASS_PATH_VARIABLE
from conformance.bridges.flink.releases import COORDINATORS, RESCALING, find_jars
from conformance.bridges.flink.shim import find_jdk
from conformance.ports import UnusableImplementation

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, os, signal, sys

HELLO = {{"type": "hello", "protocol": 4, "name": "bad", "version": "0", "capabilities": [],
         "components": ["deque", "subpartition", "teleporter"]}}

def say(**message):
    print(json.dumps(message), flush=True)

def outcome(**fields):
    say(type="outcome", outcome=fields)

for line in sys.stdin:
    request = json.loads(line)
    match request["type"]:
        case "hello":
            {on_hello}
        case "open":
            say(type="opened")
        case "call":
            {on_call}
        case "scenario":
            {on_scenario}
        case "close":
            say(type="closed")
            break
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., list[str]]:
    """Makes the command of a program that greets and opens well, and does to a call what it is told to do."""

    def make(on_call: str = "outcome()", on_hello: str = "say(**HELLO)", on_scenario: str = "pass") -> list[str]:
        script = tmp_path / "program.py"
        script.write_text(PROGRAM.format(on_call=on_call, on_hello=on_hello, on_scenario=on_scenario))
        return [sys.executable, str(script)]

    return make


@pytest.fixture
def deque_program(tmp_path: Path) -> list[str]:
    """The command of the program that docs/jsonl-protocol.md ends with."""
    page = (ROOT / "docs" / "jsonl-protocol.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    script = tmp_path / "deque.py"
    script.write_text(source)
    return [sys.executable, str(script)]


@pytest.fixture(scope="session")
def jvms():
    """One JVM for each release, started when first used."""
    made = {version: flink_component(version) for version in RESCALING.releases}
    yield made
    for implementation in made.values():
        implementation.close()


@pytest.fixture(params=RELEASES)
def flink(request, jvms):
    skip_without(request.param)
    return jvms[request.param]


@pytest.fixture(params=RESCALING.releases)
def flink_rescaling(request, jvms):
    """A release of which at least what belongs to a change of parallelism can be tested."""
    skip_without(request.param)
    return jvms[request.param]


@pytest.fixture(scope="session")
def coordinator_jvms():
    """One JVM for the coordinators of each release, started when first used."""
    made = {version: FlinkCoordinator(version) for version in COORDINATORS.releases}
    yield made
    for implementation in made.values():
        implementation.close()


@pytest.fixture(params=COORDINATORS.releases)
def flink_coordinator(request, coordinator_jvms):
    skip_without(request.param)
    return coordinator_jvms[request.param]


@pytest.fixture
def own_class(tmp_path, monkeypatch):
    """Compiles a source file of a user for a release, and names its class to the next job of `flink-pipeline`."""

    def compile_and_name(source: Path, variable: str, release: str) -> None:
        skip_without(release)
        _, javac = find_jdk()
        jars = os.pathsep.join(map(str, find_jars(release)))
        subprocess.run([javac, "-cp", jars, "-d", str(tmp_path), str(source)], check=True, capture_output=True)
        monkeypatch.setenv(CLASS_PATH_VARIABLE, str(tmp_path))
        monkeypatch.setenv(variable, source.stem)

    return compile_and_name


def skip_without(release):
    """Skips a test where the JDK or the jars of a release are missing."""
    try:
        find_jdk()
        find_jars(release)
    except UnusableImplementation as error:
        pytest.skip(str(error))
