"""Operator mutants: copies of the reference in which a program has changed one operator, constant or statement.

People write the known bugs. The operator mutants show in addition whether a program can change a line of the reference
without breaking a property. A mutant that survives behaves like the reference, or changes something that the properties
leave open, or shows that a property is missing.

A mutant is a changed copy of the package, as a known bug is. It runs in a process of its own, because it may not end.
"""

from __future__ import annotations

import ast
import contextlib
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.interruption import Interruption
from conformance.engines.position import Follow
from conformance.engines.search import Search, seeds
from conformance.engines.works import Over, alone
from conformance.ports import Implementation
from conformance.ports.changed import Package
from conformance.system.supervisor import end_with_parent

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
MOST_CPU_SECONDS = 60
"""A mutant that needs more CPU time is stopped. It counts as one that does not end, and as killed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place where a module can be changed, and how."""

    module: str
    file: str
    """The path of the file, relative to the package."""
    where: str
    """The qualified name of the function, as in a traceback."""
    line: int
    before: str
    after: str
    number: int
    """The number of this change among those of the module, from 0."""
    again: int = 1
    """The number of this change among those of the function with the same texts, from 1."""

    @property
    def name(self) -> str:
        """The name of the change, which stays the same as long as the function does, even if the function moves."""
        suffix = f" ({self.again})" if self.again > 1 else ""
        return f"{self.module}:{self.where}: {self.before} -> {self.after}{suffix}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is changed: a package, and the function in it that makes an implementation."""

    package: str
    make: str
    leave_out: tuple[str, ...] = ()
    """Subpackages that are not part of the implementation."""


class Trial(Struct, frozen=True):
    """The result of the search for one mutant."""

    killed: bool
    component: str = ""
    property: str = ""
    """The slug of the property that failed first; `does-not-end` or `cannot-be-loaded` if the search got no result."""
    scenarios: int = 0


@dataclass(frozen=True, slots=True)
class OperatorMutant:
    """A change, and the result of the search for it."""

    name: str
    line: int
    killed: bool
    component: str
    property: str
    scenarios: int


class Changing(Struct, frozen=True):
    """The search for one operator mutant, in a process of its own."""

    subject: Subject
    point: Point
    components: tuple[str, ...]
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return (self.point.module,)

    def do(self, interruption: Interruption, follow: Follow) -> Trial:
        """See `Work`. The search is not interrupted, since its end is not far."""
        return run_apart(self.subject, self.point, self.components, self.scenarios)


def try_operators(
    subject: Subject, components: Sequence[str], count: int, scenarios: int, over: Over = alone
) -> list[OperatorMutant]:
    """Try `count` changes, spread evenly over the package.

    Returns the results in the order of the source, wherever `over` does the works. After an interruption, those are
    missing that were not tried.
    """
    every = points(Package(subject.package, subject.leave_out))
    chosen = [every[place * len(every) // count] for place in range(min(count, len(every)))]
    trials = over([Changing(subject, point, tuple(components), scenarios) for point in chosen])
    return [
        OperatorMutant(point.name, point.line, one.killed, one.component, one.property, one.scenarios)
        for point, one in zip(chosen, trials, strict=True)
        if one is not None
    ]


def points(package: Package) -> list[Point]:
    """Returns every possible change of a package, in the order of its files."""
    found = []
    for file, module in sorted(package.files.items()):
        alike: Counter[tuple[str, str, str]] = Counter()
        for number, (where, node, changed) in enumerate(_changes(ast.parse(package.text(file)))):
            reads = where, _shown(node), _shown(changed)
            alike[reads] += 1
            found.append(Point(module, file, where, node.lineno, reads[1], reads[2], number, alike[reads]))
    return found


def changed_text(text: str, number: int) -> str:
    """Returns the source of a module with one change made. Everything else stays in its place."""
    _, node, changed = list(_changes(ast.parse(text)))[number]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    now = ast.unparse(changed)
    if isinstance(changed, ast.expr):
        now = f"({now})"
    lines = text.encode().splitlines(keepends=True)  # columns count bytes
    head = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    tail = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (head + now.encode() + tail).decode()


class _Request(Struct, frozen=True):
    """The input of the process of a mutant."""

    package: str
    make: str
    leave_out: tuple[str, ...]
    file: str
    number: int
    components: tuple[str, ...]
    scenarios: int


def run_apart(subject: Subject, point: Point, components: Sequence[str], scenarios: int) -> Trial:
    """Search for the mutant in a process of its own."""
    request = _Request(
        subject.package, subject.make, subject.leave_out, point.file, point.number, tuple(components), scenarios
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from conformance.engines.operators import main; main()"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # an executor has packages elsewhere
        input=msgspec.json.encode(request).decode(), capture_output=True, text=True, check=False,
        process_group=0,  # Ctrl-C is for the command: a mutant that it ended would count as killed
    )  # fmt: skip
    try:
        return msgspec.json.decode(done.stdout, type=Trial)
    except msgspec.DecodeError:
        return Trial(True, property="does-not-end" if done.returncode < 0 else "cannot-be-loaded")


# ---- in the process of the mutant ------------------------------------------------------------------------------------
def main() -> None:
    """Make one changed copy, search, and write the result to stdout."""
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    asked = msgspec.json.decode(sys.stdin.read(), type=_Request)
    with contextlib.redirect_stdout(sys.stderr):
        package = Package(asked.package, asked.leave_out)
        copy = package.copy({asked.file: changed_text(package.text(asked.file), asked.number)})
        trial = _search(getattr(copy, asked.make)(), asked.components, asked.scenarios)
    sys.stdout.write(msgspec.json.encode(trial).decode())


def _search(implementation: Implementation, components: Sequence[str], scenarios: int) -> Trial:
    done = 0
    for most in (scenarios // 10, scenarios):  # the first scenarios of one of the components kill most mutants
        for component in components:
            search = Search(Program(COMPONENTS[component], implementation))
            for text in seeds("operators", component, range(0 if most < scenarios else scenarios // 10, most)):
                done += 1
                violation = search.run(text)[1].violation
                if violation is not None:
                    return Trial(True, component, violation.property.slug, done)
    return Trial(False, scenarios=done)


# ---- changes ---------------------------------------------------------------------------------------------------------
Found = tuple[str, ast.stmt | ast.expr, ast.stmt | ast.expr]


def _changes(tree: ast.Module) -> Iterator[Found]:
    """Yields the changes inside functions in the order of the source: the function, the node, and its replacement."""
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
    """Returns whether a statement is a call, or an assignment to an attribute or an item."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Await))
    return isinstance(node, (ast.Assign, ast.AugAssign)) and isinstance(_target(node), (ast.Attribute, ast.Subscript))


def _target(node: ast.Assign | ast.AugAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def _shown(node: ast.AST) -> str:
    """Returns the source of a node on one line, shortened to 70 characters."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:67]}..."
