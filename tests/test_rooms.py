"""Who may import whom: the rule of ARCHITECTURE.md, read from the source without running it.

Every import statement counts, also inside functions and under TYPE_CHECKING. Not seen: what is imported by a name found
at run time (`import_module`), which is how entry points reach the reference and the bridges.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.ports.catalogue import INTERFACES

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("conformance", "strategies", "reference_impl")

CHAIN = (
    ("conformance.cli",),
    ("conformance.suite",),
    ("conformance.reporting",),
    ("conformance.exploring",),
    ("conformance.campaigns",),
    ("conformance.relations",),
    ("conformance.episodes",),
    ("strategies",),
    ("conformance.engines",),
    ("conformance.components",),
    ("conformance.models",),
    ("conformance.driver",),
    ("conformance.scenarios",),
    ("conformance.ports",),
    ("conformance.system",),
)
"""A room may import the rooms to its right. Two rooms in one place may not import each other."""

BESIDES = {
    "conformance.driver": {"conformance.scheduling"},
    "conformance.engines": {"conformance.scheduling", "conformance.state_files"},
    "conformance.exploring": {"conformance.scheduling"},
    "conformance.ports": {"conformance.state_files"},
    "conformance.relations": {"conformance.scheduling"},
    "conformance.reporting": {"conformance.state_files"},
    "conformance.scheduling": set(),
    "conformance.state_files": set(),
    "reference_impl": {"conformance.ports", "conformance.scheduling", "conformance.state_files"},
    "conformance.bridges": {
        "conformance.ports",
        "conformance.scenarios",
        "conformance.scheduling",
        "conformance.state_files",
        "conformance.system",
    },
}
"""What the chain does not say. The package `conformance` itself is no room: it holds the version, for everybody."""

NAMELESS = ("driver", "models", "engines", "campaigns", "exploring", "reporting", "suite", "bridges/jsonl")
"""Rooms in which no component is named: they are handed one, or look one up in what they are handed."""

ONLY_IN = {
    "faker": ("strategies/texts.py",),
    "pyspark": ("conformance/campaigns/spark*.py", "conformance/exploring/spark*.py"),
    "pyarrow": (
        "conformance/campaigns/spark*.py",
        "conformance/campaigns/store.py",
        "conformance/campaigns/tables.py",
        "conformance/exploring/*.py",
    ),
}
"""Third parties that only some files may import."""


def may_import() -> dict[str, set[str]]:
    """Each room, and the other rooms that it may import."""
    allowed = {
        room: {right for place in CHAIN[position + 1 :] for right in place}
        for position, place in enumerate(CHAIN)
        for room in place
    }
    for room, more in BESIDES.items():
        allowed[room] = allowed.get(room, set()) | more
    return allowed


ALLOWED = may_import()


@dataclass(frozen=True)
class Import:
    """One imported name, made absolute."""

    line: int
    name: str


def module_of(path: str) -> tuple[str, ...]:
    """The dotted name of the file at `path`, in parts."""
    parts = Path(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: str, source: str) -> Iterator[Import]:
    """Every name that an import statement of `source` asks for: `from a import b` asks for a.b."""
    module = module_of(path)
    package = module if Path(path).name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            yield from (Import(node.lineno, ".".join((*base, alias.name))) for alias in node.names)


def room_of(name: str) -> str | None:
    """The room that the dotted `name` is in. None: it is in none of ours."""
    return next((room for room in ALLOWED if f"{name}.".startswith(f"{room}.")), None)


def violations(path: str, source: str) -> list[str]:
    """What is wrong with the imports of the file at `path`, one line each: where, what, and the rule."""
    module = ".".join(module_of(path))
    room = room_of(module)
    if room is None and module != "conformance":
        return [f"{path}:1: {module} is in no room; add it to the chain in ARCHITECTURE.md and here"]
    found = []
    for one in imports(path, source):
        where = f"{path}:{one.line}: imports {one.name}"
        files = ONLY_IN.get(one.name.partition(".")[0])
        if files and not any(Path(path).match(file) for file in files):
            found.append(f"{where}; only {' and '.join(files)} may")
        target = room_of(one.name)
        if target is not None and target != room and target not in ALLOWED.get(room or "", set()):
            rule = ", ".join(sorted(ALLOWED.get(room or "", set()))) or "no other room"
            found.append(f"{where}; {room or module} may import {rule}")
    return found


def sources() -> list[str]:
    """Every Python file that ships."""
    return sorted(str(file.relative_to(ROOT).as_posix()) for name in PACKAGES for file in (ROOT / name).rglob("*.py"))


def within(*places: str) -> list[str]:
    """The Python files in some folders. There are some."""
    found = [path for path in sources() if path.startswith(places)]
    assert found
    return found


def test_imports_keep_to_the_rooms() -> None:
    found = [one for path in sources() for one in violations(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_a_component_knows_no_other() -> None:
    """All that the suite knows of a gate stands in `components/gate/`; what several know is a part."""
    folders = {one.name for one in (ROOT / "conformance/components").iterdir() if one.is_dir()}
    found = []
    for path in within("conformance/components/"):
        mine = Path(path).parent.name
        for one in imports(path, (ROOT / path).read_text(encoding="utf-8")):
            room, _, rest = one.name.partition("conformance.components.")
            if not room and rest.partition(".")[0] in folders - {mine} and mine != "components":
                found.append(f"{path}:{one.line}: imports {one.name}, which is another component")
    assert not found, "\n".join(found)


def test_engines_campaigns_and_reporting_name_no_component() -> None:
    found = [
        f"{path}:{node.lineno}: names {node.value}"
        for path in within(*(f"conformance/{room}/" for room in NAMELESS))
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"), path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in INTERFACES
    ]
    assert not found, "\n".join(found)


def test_the_reference_imports_itself_relatively() -> None:
    """A known bug is a changed copy of the package: an absolute import in it would find the unchanged module."""
    found = []
    for path in within("reference_impl/"):
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"), path)):
            absolute = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            absolute += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [f"{path}: {name}" for name in absolute if name.partition(".")[0] == "reference_impl"]
    assert not found, "\n".join(found)


def test_there_is_something_to_check() -> None:
    assert "conformance/ports/__init__.py" in sources()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("conformance/cli/searching.py", "from conformance.ports import Port"),
        ("conformance/cli/searching.py", "import conformance.campaigns.plan"),
        ("conformance/reporting/tables.py", "from conformance.campaigns import result"),
        ("conformance/engines/search.py", "from conformance.scheduling import Deadlock"),
        ("conformance/suite/judging.py", "import strategies.records"),
        ("strategies/records.py", "from conformance.engines.drawing import Drawing"),
        ("conformance/components/gate/rules.py", "from conformance.components.gate.steps import poll"),
        ("conformance/components/__init__.py", "from conformance.components.gate import COMPONENT"),
        ("conformance/ports/deque.py", "from . import port\nfrom .port import Port"),
        ("conformance/ports/deque.py", "from conformance import __version__"),
        ("conformance/bridges/flink/adapter.py", "from conformance.bridges.jsonl import Wire"),
        ("conformance/bridges/flink/adapter.py", "from conformance.scenarios import Scenario"),
        ("reference_impl/task/chain.py", "from ..network.gate import Gate\nimport conformance.ports"),
        ("reference_impl/network/deque.py", "from conformance.scheduling import Lock"),
        ("conformance/campaigns/spark.py", "import pyspark, pyarrow"),
        ("conformance/campaigns/spark_session.py", "from pyspark.sql import SparkSession"),
        ("conformance/campaigns/store.py", "import pyarrow.parquet as pq"),
        ("conformance/scheduling/kernel.py", "import heapq\nfrom conformance.scheduling.locks import Lock"),
        ("conformance/__init__.py", "from importlib.metadata import version"),
        ("conformance/scenarios/codec.py", "import conformance_other, strategies_other"),
    ],
)
def test_the_checker_allows(path: str, source: str) -> None:
    assert violations(path, source) == []


@pytest.mark.parametrize(
    ("path", "source", "line", "name"),
    [
        ("conformance/ports/deque.py", "import conformance.driver", 1, "conformance.driver"),
        ("conformance/driver/world.py", "from conformance.models import lane", 1, "conformance.models.lane"),
        ("conformance/models/lane.py", "import conformance.components", 1, "conformance.components"),
        ("conformance/ports/deque.py", "from conformance import scenarios", 1, "conformance.scenarios"),
        ("conformance/ports/deque.py", "from .. import scenarios", 1, "conformance.scenarios"),
        (
            "conformance/ports/__init__.py",
            "from ..scenarios.codec import loads",
            1,
            "conformance.scenarios.codec.loads",
        ),
        ("conformance/driver/step.py", "def f():\n    import strategies", 2, "strategies"),
        (
            "conformance/engines/search.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from conformance.campaigns import Plan",
            3,
            "conformance.campaigns.Plan",
        ),
        ("conformance/cli/searching.py", "import conformance.scheduling", 1, "conformance.scheduling"),
        ("conformance/cli/searching.py", "from conformance import bridges", 1, "conformance.bridges"),
        ("conformance/cli/searching.py", "import reference_impl", 1, "reference_impl"),
        ("conformance/scheduling/kernel.py", "import conformance.ports", 1, "conformance.ports"),
        ("conformance/scenarios/replay.py", "import conformance.scheduling", 1, "conformance.scheduling"),
        ("conformance/bridges/jsonl/wire.py", "import conformance.driver", 1, "conformance.driver"),
        (
            "reference_impl/network/deque.py",
            "from conformance.driver import Property",
            1,
            "conformance.driver.Property",
        ),
        ("conformance/__init__.py", "from conformance.ports import Port", 1, "conformance.ports.Port"),
        ("conformance/campaigns/plan.py", "import pyspark", 1, "pyspark"),
        ("conformance/campaigns/store.py", "from pyspark.sql import Row", 1, "pyspark.sql.Row"),
        ("conformance/reporting/spark.py", "import pyarrow as pa", 1, "pyarrow"),
        ("conformance/campaigns/spark/session.py", "import pyspark", 1, "pyspark"),
    ],
)
def test_the_checker_refuses(path: str, source: str, line: int, name: str) -> None:
    (found,) = violations(path, source)
    assert found.startswith(f"{path}:{line}: imports {name}; ")


def test_the_checker_names_the_rule() -> None:
    assert violations("conformance/bridges/jsonl/wire.py", "import strategies") == [
        "conformance/bridges/jsonl/wire.py:1: imports strategies; "
        "conformance.bridges may import conformance.ports, conformance.scenarios, conformance.scheduling, "
        "conformance.state_files, conformance.system"
    ]


def test_a_module_outside_every_room_is_refused() -> None:
    (found,) = violations("conformance/helpers.py", "import json")
    assert found.startswith("conformance/helpers.py:1: conformance.helpers is in no room")
