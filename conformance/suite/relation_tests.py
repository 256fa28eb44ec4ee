"""The relations of a component as tests of a user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import TestCase

from hypothesis import HealthCheck, settings

from conformance.driver import Program
from conformance.relations import RELATIONS, Relation, Subject, tested


def relations(program: Program) -> type[TestCase]:
    """Returns a class with a test of Hypothesis for each relation of a component that applies to its implementation.

    The settings are those of the profile that is loaded, without deadline and without the health check of slow data.

    Raises: ValueError if the component has no relations.
    """
    name = program.component.name
    if name not in RELATIONS:
        raise ValueError(f"the component {name} has no relations; {', '.join(RELATIONS)} have")
    subject = Subject(program.factory, program.capabilities)
    applying = [one for one in RELATIONS[name] if one.applies(program.capabilities)]
    body = {f"test_{one.slug.replace('-', '_')}": _method(one, subject) for one in applying}
    return type("Relations", (TestCase,), {"__doc__": f"The relations of {name}.", **body})


def _method(relation: Relation, subject: Subject) -> Callable[[TestCase], None]:
    holds: Any = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])(tested(relation, subject))

    def test(self: TestCase) -> None:
        holds()

    test.__doc__ = relation.statement
    return test
