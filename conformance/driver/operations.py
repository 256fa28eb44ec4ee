"""What a chapter of the specification says of each operation of a port, in the table of its section *Operations*.

A row of the table is one method of the port: its name, what it returns, the steps in which it must not fail, and those
in which it may or must. Each case of a step has the phases in which it is enabled, and then the condition in words:

```markdown
| `poll` | the next element | `poll` (live): at any moment | `poll (late)` (released): must fail, kind *state* |
```

Several steps in a cell have `<br>` between them. A violation quotes the condition that the implementation did not keep.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from conformance.system.packaged import chapter

ALWAYS = "always"
"""Stands for all phases of a component; `always but failed` for all but one."""
_SECTION = re.compile(r"^## Operations\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_CLAUSE = re.compile(r"`(\w+(?: \([^`]+\))?)` \(([^)]+)\): (.+)")
_BREAK = "<br>"
_NOTHING = "-"


class Clause(NamedTuple):
    """What is said of one step, or of one case of it."""

    step: str
    """Its key."""
    phases: tuple[str, ...]
    """The phases in which it is enabled, or `always`, or `always but` some of them."""
    text: str
    """The condition. It completes the sentence "it must succeed ..." or, if the operation may fail, "it ..."."""


class Operation(NamedTuple):
    """What is said of one method of a port."""

    method: str
    returns: str
    succeeds: tuple[Clause, ...]
    """The steps in which it must not fail, unless a fault strikes it or the task fails meanwhile."""
    fails: tuple[Clause, ...]
    """The steps in which it may or must fail."""


def operations(text: str) -> list[Operation]:
    """Returns the rows of the table in a chapter. Raises: ValueError if a cell is not written as the table must be."""
    section = _SECTION.search(text)
    rows = _ROW.findall(section[1]) if section is not None else []
    return [Operation(name, returns, _clauses(name, good), _clauses(name, bad)) for name, returns, good, bad in rows]


@cache
def must_succeed(component: str, step: str) -> str | None:
    """Returns a sentence that says when an operation must succeed, and in which chapter that stands. `step`: its key.

    None: the chapter of the component says nothing of it, or there is no chapter.
    """
    text = chapter(component)
    found = operations(text) if text is not None else ()
    for clause in (clause for one in found for clause in one.succeeds if clause.step == step):
        return f"{step} must succeed {clause.text.replace('`', '')} ({component}.md#operations)"
    return None


def _clauses(method: str, cell: str) -> tuple[Clause, ...]:
    if cell == _NOTHING:
        return ()
    return tuple(_clause(method, text) for text in cell.split(_BREAK))


def _clause(method: str, text: str) -> Clause:
    found = _CLAUSE.fullmatch(text)
    if found is None:
        raise ValueError(f"row `{method}`: found {text!r}; write it as `step` (phase, phase): condition")
    return Clause(found[1], tuple(found[2].split(", ")), found[3])


def phases_of(clause: Clause, every: Sequence[str]) -> tuple[str, ...]:
    """Returns the phases that a clause means, of a component that has these."""
    text = ", ".join(clause.phases)
    if text == ALWAYS:
        return tuple(every)
    left_out = text.removeprefix(f"{ALWAYS} but ").split(", ")
    return tuple(one for one in every if one not in left_out) if text.startswith(ALWAYS) else clause.phases
