"""The conformance report: one page for all implementations and components of a check, and scenario files beside it.

The report contains neither time nor host, so the same call gives the same bytes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.driver import Component
from conformance.engines import Check, Found, KnownFailure, Replay, Standing, replay
from conformance.ports import Capability, Implementation, find_implementation, offered_components
from conformance.scenarios import Finding, Scenario, encode_scenario, scenario_id
from conformance.scenarios.names import as_file_name
from conformance.system.writing import write_text

ENDING = ".scenario.json"
"""How the names of the scenario files end. Other files in their folder are left alone."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A failure with its replays."""

    found: Found
    replay: Replay
    reference: Replay | None
    """The replay of the reference; None if the reference failed, or does not offer the component."""
    known: KnownFailure | None
    """The entry of the list of known failures; None if it has none."""


@dataclass(frozen=True, slots=True)
class Tested:
    """One implementation, with its checks and failures."""

    name: str
    """The name in the call."""
    version: str
    capabilities: frozenset[Capability]
    """The capabilities that it claims."""
    checks: tuple[Check, ...]
    """One per component."""
    standing: Standing
    failures: tuple[Shown, ...]

    def is_known(self, slug: str, component: str) -> bool:
        """Whether every failure of a property is known."""
        mine = [one for one in self.failures if one.found.slug == slug and one.found.scenario.component == component]
        return bool(mine) and all(one.known is not None for one in mine)

    def check_of(self, component: str) -> Check | None:
        """The check of a component; None if it was not checked."""
        return next((one for one in self.checks if one.program.component.name == component), None)


@dataclass(frozen=True, slots=True)
class Call:
    """The options of a call of `conformance check`."""

    implementations: Sequence[str]
    components: Sequence[str]
    """Empty if all components that are offered were tested."""
    scenarios: int
    """Per implementation and component."""
    seed: str
    engine: str
    assume: Sequence[str]
    known_failures: str | None
    """The file name in the call."""
    against: str | None

    def command(self, page: str, as_what: str = "--report") -> str:
        """The command line that writes the report, or another page, again, as a file of this name."""
        words = ["conformance", "check"]
        for option, values in (
            ("--implementation", self.implementations),
            ("--component", self.components),
            ("--scenarios", [str(self.scenarios)]),
            ("--seed", [self.seed]),
            ("--engine", [] if self.engine == "random" else [self.engine]),
            ("--assume", self.assume),
            ("--known-failures", [] if self.known_failures is None else [self.known_failures]),
            ("--against", [] if self.against is None else [self.against]),
            (as_what, [page]),
        ):
            for value in values:
                words += [option, value]
        return shlex.join(words)


def evidence_of(
    name: str,
    implementation: Implementation,
    checks: Sequence[Check],
    standing: Standing,
    assumed: Iterable[Capability] = (),
) -> Tested:
    """Replay each failure, to show its steps in the report. The implementation must not be closed yet."""
    assumed = frozenset(assumed)
    failures = tuple(
        Shown(
            found,
            replay(found.scenario, implementation, assumed, _only(check.program.component)),
            _on_the_reference(name, found, check.program.component),
            standing.entry(found),
        )
        for check in checks
        for found in check.found
    )
    return Tested(
        name, implementation.version, implementation.capabilities, tuple(checks), standing, failures
    )  # fmt: skip


def _only(component: Component) -> Mapping[str, Component]:
    return {component.name: component}


def _on_the_reference(name: str, found: Found, component: Component) -> Replay | None:
    reference = find_implementation("reference")
    if name == "reference" or found.scenario.component not in offered_components(reference):
        return None
    return replay(found.scenario, reference, components=_only(component))


def scenario_folder(page: Path) -> Path:
    """Return the folder of a page's scenario files. Raises: ValueError if the name of the page has no suffix."""
    if not page.suffix:
        raise ValueError(
            f"{page} has no suffix: the scenarios are written into a folder named after the report, so the report "
            "needs a name such as report.md"
        )
    return page.with_suffix("")


def file_names(everybody: Sequence[Tested]) -> dict[int, str]:
    """Return the names of the scenario files. The key is the number of the failure, from 1 on."""
    every = [(one.name, shown) for one in everybody for shown in one.failures]
    return {
        number: "-".join((f"{number:02}", _for_a_file(name), _slugs(shown.found))) + ENDING
        for number, (name, shown) in enumerate(every, start=1)
    }


def _slugs(found: Found) -> str:
    return as_file_name(f"{found.scenario.component}-{found.slug}-{scenario_id(found.scenario)[:8]}")


def _for_a_file(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.@_-]+", "-", name).strip("-.")[:40]


def scenario_files(everybody: Sequence[Tested]) -> dict[str, str]:
    """Return the scenario files by name. Each names its implementation, so that a replay needs only the file."""
    names = file_names(everybody)
    every = [(one.name, shown.found) for one in everybody for shown in one.failures]
    files = {}
    for number, (name, found) in enumerate(every, start=1):
        scenario = found.scenario
        finding = Finding(found.slug, found.failure_class, name)
        files[names[number]] = encode_scenario(Scenario(scenario.component, scenario.config, scenario.steps, finding))
    return files


def write_page(page: Path, text: str, files: Mapping[str, str]) -> None:
    """Write the scenario files, then the page. Remove the scenario files of an older report.

    Raises: OSError, which names the file; ValueError if the name of the page has no suffix.
    """
    folder = scenario_folder(page)
    for name, content in files.items():
        write_text(folder / name, content)
    write_text(page, text)
    for old in sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else ():
        if old.name not in files:
            old.unlink()
