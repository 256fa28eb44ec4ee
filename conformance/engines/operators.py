"""Operator mutants: the reference with one operator, constant or statement changed, by the thousand.

Known bugs are bugs that somebody made. Operator mutants ask the dull question beside: is there a line of the reference
that may be changed without anybody noticing? One that survives is equivalent, or about something the properties leave
open, or a hole.

Each mutant lives in a process of its own, which loads the one module with the one change before anything else knows it.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import msgspec
from msgspec import Struct

from conformance.components import COMPONENTS

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
MOST_CPU_SECONDS = 60
"""A mutant that computes for longer does not end: that, too, is noticed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place where a module can be changed, and how."""

    module: str
    where: str
    """The function, as in a traceback."""
    line: int
    before: str
    after: str
    number: int
    """Of this change among those of the module."""
    again: int = 1
    """Of this change among those of the function that read alike."""

    @property
    def name(self) -> str:
        """Names the change for as long as the function stays as it is, wherever it stands."""
        suffix = f" ({self.again})" if self.again > 1 else ""
        return f"{self.module}:{self.where}: {self.before} -> {self.after}{suffix}"


class Trial(Struct, frozen=True):
    """What became of one mutant."""

    killed: bool
    component: str = ""
    property: str = ""
    """The one that noticed first; `does-not-end` or `cannot-be-loaded` if it came to nothing."""
    scenarios: int = 0


@dataclass(frozen=True, slots=True)
class OperatorMutant:
    """A change, and what became of it."""

    name: str
    line: int
    killed: bool
    component: str
    property: str
    scenarios: int


def try_operators(
    package: ModuleType,
    components: Sequence[str],
    count: int,
    scenarios: int,
    leave_out: Sequence[str] = (),
    processes: int = 1,
) -> list[OperatorMutant]:
    """So many changes, spread evenly over the package; in the order of its source, whatever the number of processes."""
    every = [point for module, path in modules(package, leave_out) for point in points(module, path)]
    chosen = [every[place * len(every) // count] for place in range(min(count, len(every)))]
    with ThreadPoolExecutor(max(1, processes)) as pool:  # threads that wait for processes
        trials = list(pool.map(lambda point: run_apart(point, components, scenarios), chosen))
    return [
        OperatorMutant(point.name, point.line, one.killed, one.component, one.property, one.scenarios)
        for point, one in zip(chosen, trials, strict=True)
    ]


def modules(package: ModuleType, leave_out: Sequence[str] = ()) -> list[tuple[str, Path]]:
    """The modules of a package with their files, in order of names; not those below `leave_out`."""
    (folder,) = (Path(one) for one in package.__path__)
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if path.name != "__init__.py" and not any(part in leave_out for part in parts):
            found.append((".".join((package.__name__, *parts)), path))
    return found


def points(module: str, path: Path) -> list[Point]:
    """Every change of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alike: Counter[tuple[str, str, str]] = Counter()
    found = []
    for number, (where, node, changed) in enumerate(_changes(tree)):
        reads = where, _shown(node), _shown(changed)
        alike[reads] += 1
        found.append(Point(module, where, node.lineno, reads[1], reads[2], number, alike[reads]))
    return found


def run_apart(point: Point, components: Sequence[str], scenarios: int) -> Trial:
    """Search for the mutant in a process of its own."""
    request = msgspec.json.encode((point.module, point.number, list(components), scenarios)).decode()
    done = subprocess.run(
        [sys.executable, "-c", "from conformance.engines.operators import main; main()"],
        input=request, capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        return msgspec.json.decode(done.stdout, type=Trial)
    except msgspec.DecodeError:
        return Trial(True, property="does-not-end" if done.returncode < 0 else "cannot-be-loaded")


# ---- in the process of the mutant ------------------------------------------------------------------------------------
def main() -> None:
    """Load one module with one change, search, and say on stdout what came of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    module, number, components, scenarios = msgspec.json.decode(sys.stdin.read(), type=tuple[str, int, list[str], int])
    sys.meta_path.insert(0, _Finder(module, number))
    from conformance.ports import find_implementation

    with contextlib.redirect_stdout(sys.stderr):
        trial = _search(find_implementation("reference"), components, scenarios)
    sys.stdout.write(msgspec.json.encode(trial).decode())


def _search(implementation: object, components: Sequence[str], scenarios: int) -> Trial:
    from conformance.driver import Program
    from conformance.engines.search import Search, seeds

    done = 0
    for most in (scenarios // 10, scenarios):  # most mutants are found at once, by somebody
        for component in components:
            search = Search(Program(COMPONENTS[component], implementation))  # type: ignore[arg-type]
            for text in seeds("operators", component, range(0 if most < scenarios else scenarios // 10, most)):
                done += 1
                violation = search.run(text)[1].violation
                if violation is not None:
                    return Trial(True, component, violation.property.slug, done)
    return Trial(False, scenarios=done)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, and changes it."""

    def __init__(self, module: str, number: int) -> None:
        self.module = module
        self.number = number

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The usual place, another loader."""
        if fullname != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        return importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=_Loader(fullname, spec.origin, self.number)
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, number: int) -> None:
        super().__init__(fullname, path)
        self.number = number

    def get_code(self, fullname: str) -> CodeType:
        """Past every cache of compiled files."""
        tree = ast.parse(self.get_data(self.path))
        _, node, changed = list(_changes(tree))[self.number]
        _Exchange(node, changed).visit(tree)
        code: CodeType = compile(ast.fix_missing_locations(tree), self.path, "exec")
        return code


class _Exchange(ast.NodeTransformer):
    def __init__(self, node: ast.AST, changed: ast.AST) -> None:
        self.node = node
        self.changed = changed

    def visit(self, node: ast.AST) -> ast.AST:
        return self.changed if node is self.node else self.generic_visit(node)


# ---- changes ---------------------------------------------------------------------------------------------------------
Found = tuple[str, ast.stmt | ast.expr, ast.stmt | ast.expr]


def _changes(tree: ast.Module) -> Iterator[Found]:
    """Changes inside functions, in the order of the source: where, what, and what instead."""
    for node in tree.body:
        yield from _inside(node, "")


def _inside(node: ast.AST, where: str) -> Iterator[Found]:
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from _inside(inner, f"{where}{node.name}.")
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for statement in node.body:
            yield from _of(statement, f"{where}{node.name}")


def _of(node: ast.AST, where: str) -> Iterator[Found]:
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    for changed in _changed(node):
        assert isinstance(node, (ast.stmt, ast.expr))
        yield where, node, changed
    for inner in ast.iter_child_nodes(node):
        yield from _of(inner, where)


def _changed(node: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        yield ast.copy_location(
            ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators), node
        )
    elif isinstance(node, ast.BoolOp):
        yield ast.copy_location(ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values), node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.copy_location(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.copy_location(ast.Constant(not node.value), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.copy_location(ast.Constant(node.value + 1), node)
    elif _is_effect(node):
        yield ast.copy_location(ast.Pass(), node)


def _is_effect(node: ast.AST) -> bool:
    """A statement that is there for what it does: a call, or an assignment into an object."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Await))
    return isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(_target(node), (ast.Attribute, ast.Subscript))


def _target(node: ast.Assign | ast.AugAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def _shown(node: ast.AST) -> str:
    """On one line."""
    text = " ".join(ast.unparse(copy.copy(node)).split())
    return text if len(text) <= 70 else f"{text[:67]}..."
