"""What a relation is: a change of what an implementation is given, and what of the result must stay as it was.

A property is judged in one run, by a ledger that knows what is owed. A relation compares runs of drawn examples with
each other, and knows nothing of what a single one should return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, NoReturn, TypeAlias, TypeVar

from hypothesis.strategies import SearchStrategy

from conformance.ports import Capability
from conformance.relations.subject import Subject

E = TypeVar("E")
Claims: TypeAlias = frozenset[Capability]
Examples: TypeAlias = Callable[[Claims], SearchStrategy[E]]
"""Returns what draws examples that an implementation understands which claims these capabilities."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of one component."""

    component: str
    slug: str
    statement: str
    invariant: str
    """The number in the specification of what it follows from."""
    needs: Claims
    one_of: Claims
    """Of these, an implementation must claim at least one; none if there are none."""
    examples: Examples[Any]
    check: Callable[[Subject, Any], None]
    """Tries one example. Raises: AssertionError if the relation does not hold."""

    def applies(self, capabilities: Claims) -> bool:
        """Returns whether it must hold for an implementation that claims these capabilities."""
        return not self.missing(capabilities)

    def missing(self, capabilities: Claims) -> list[str]:
        """Returns what an implementation would have to claim besides these capabilities, in words."""
        found: list[str] = sorted(self.needs - capabilities)
        if self.one_of and self.one_of.isdisjoint(capabilities):
            found.append(" or ".join(sorted(self.one_of)))
        return found


class Relations:
    """The relations of one component, in the order in which they are declared."""

    def __init__(self, component: str, one_of: Claims) -> None:
        """`one_of`: at least one of these capabilities must be claimed, or no example can be drawn."""
        self.component = component
        self.one_of = one_of
        self.all: list[Relation] = []

    def relation(
        self, examples: Examples[E], *, invariant: str, needs: Claims = frozenset()
    ) -> Callable[[Callable[[Subject, E], None]], Callable[[Subject, E], None]]:
        """Declares a relation: the name of the function is its slug, and the docstring its statement."""

        def declare(check: Callable[[Subject, E], None]) -> Callable[[Subject, E], None]:
            slug, statement = check.__name__.replace("_", "-"), " ".join((getdoc(check) or "").split())
            self.all.append(Relation(self.component, slug, statement, invariant, needs, self.one_of, examples, check))
            return check

        return declare

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.all)


def broken(what: str) -> NoReturn:
    """Raises: AssertionError, which says what is not as the relation says."""
    raise AssertionError(what)


def same(one: object, other: object, what: str) -> None:
    """Raises: AssertionError if these two are not the same. `what`: what was compared, as the subject of a sentence."""
    if one != other:
        broken(f"{what} must be the same:\n  {one!r}\n  {other!r}")
