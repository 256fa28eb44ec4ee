"""One version of the suite, as a process that draws and judges scenarios on request.

It runs with `PYTHONPATH` set to the version that it stands for, so it uses only what both versions have. It reads one
request a line and writes one reply a line, both JSON. It never imports its neighbours, which belong to another version.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from typing import Any

from conformance.components import COMPONENTS
from conformance.driver import Program, Run, run_scenario
from conformance.engines.search import Search
from conformance.ports import find_implementation
from conformance.ports.registry import known_bugs, legal_variants
from conformance.scenarios import Scenario, SchemaError, decode_scenario, encode_scenario
from conformance.scenarios.codec import canonical, encode_entries

REFERENCES = ("reference", "reference-in-memory", "reference-recover-first")


class Programs:
    """The programs of the implementation that was named last."""

    def __init__(self) -> None:
        self._name = ""
        self._implementation: Any = None
        self._programs: dict[str, Program] = {}

    def program(self, implementation: str, component: str) -> Program | None:
        """Returns the component made ready for this implementation; None if the implementation lacks it."""
        if implementation != self._name:
            if self._implementation is not None:
                self._implementation.close()
            self._name, self._programs = implementation, {}
            self._implementation = find_implementation(implementation)
        if component not in self._implementation.components():
            return None
        if component not in self._programs:
            self._programs[component] = in_its_shape(
                Program(COMPONENTS[component], self._implementation), implementation
            )
        return self._programs[component]


def in_its_shape(program: Program, implementation: str) -> Program:
    """Returns the program of a known bug or a legal variant in the shape of the component in which it is tried. A
    version that knows no shapes has one."""
    name = implementation.partition(":")[2]
    tried: list[Any] = [*known_bugs(), *legal_variants()]
    shape = next((getattr(one, "shape", "") for one in tried if one.id == name), "")
    return program.pinned(shape) if shape else program


def catalogue() -> dict[str, Any]:
    """Returns what this version has: components, known bugs, legal variants, slugs and what they were called before."""
    return {
        "components": {
            name: {one.slug: list(one.formerly) for one in component.properties}
            for name, component in COMPONENTS.items()
        },
        "known-bug": {one.id: one.component for one in known_bugs()},
        "legal-variant": {one.id: one.component for one in legal_variants()},
    }


def judged(program: Program, run: Run) -> dict[str, Any]:
    """Returns what this version observed and judged in a run. Names of steps are no part of it."""
    told = [
        (entry.get("outcome"), entry.get("closing", False))
        for entry in encode_entries(run.entries)
        if "skipped" not in entry
    ]
    violation = run.violation
    return {
        "history": hashlib.sha256(canonical(told).encode()).hexdigest()[:16],
        "steps": len(told),
        "violation": None if violation is None else [*violation.signature[:2], len(told)],
        "exercised": program.exercised(run.exercised),
    }


def drawn(programs: Programs, implementation: str, component: str, seeds: list[str]) -> list[dict[str, Any]]:
    """Draw and judge one scenario for each seed text."""
    program = programs.program(implementation, component)
    if program is None or not program.configs:
        return []
    search, found = Search(program), []
    for seed in seeds:
        scenario, run = search.run(seed, record=True)
        found.append({"scenario": readable(encode_scenario(scenario)), **judged(program, run)})
    return found


def readable(text: str) -> str:
    """Returns the file of a scenario as a version can read it that knows schema 2: a fault strikes the next call there.

    Steps that schema 3 changed besides keep their names, and the earlier version skips what it does not enable."""
    text = text.replace('"schema": 3', '"schema": 2')
    return re.sub(r'(\["fault", "[^"]*", "[^"]*"), 1\]', r"\1]", text)


def is_for(program: Program, config: Any) -> bool:
    """Returns whether a program is tried with this configuration."""
    has_shape = getattr(program, "has_shape", None)
    return program.understands(config) and (has_shape is None or has_shape(config))


def judge(programs: Programs, implementation: str, text: str) -> dict[str, Any]:
    """Judge a scenario that was drawn elsewhere."""
    try:
        scenario: Scenario = decode_scenario(text, COMPONENTS)
    except SchemaError as error:
        return {"unreadable": str(error)}
    program = programs.program(implementation, scenario.component)
    if program is None or not is_for(program, scenario.config):
        return {"unreadable": f"{implementation} lacks {scenario.component} in this configuration"}
    return judged(program, run_scenario(program, scenario.config, scenario.steps, record=True))


def main() -> None:
    """Reply to one request after the other, until there is none."""
    programs = Programs()
    for line in sys.stdin:
        request = json.loads(line)
        if "seeds" in request:
            reply: Any = drawn(programs, request["implementation"], request["component"], request["seeds"])
        elif "scenarios" in request:
            reply = [judge(programs, request["implementation"], one) for one in request["scenarios"]]
        else:
            reply = catalogue()
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
