"""Tries a relation with Hypothesis, which draws examples and shrinks one for which it does not hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from conformance.relations.relation import Relation
from conformance.relations.subject import Subject


def tested(relation: Relation, subject: Subject) -> Callable[[], None]:
    """Returns a test of Hypothesis that tries a relation. It has no settings yet."""

    @given(example=relation.examples(subject.capabilities))
    def holds(example: Any) -> None:
        relation.check(subject, example)

    return holds


def attempt(relation: Relation, subject: Subject, examples: int, seed: int | str) -> str | None:
    """Tries a relation. Returns why it does not hold, with the simplest example that was found; None if it holds for
    all examples. The same seed draws the same examples.

    An implementation that raises an error breaks the relation: no example asks for what must fail.
    """
    failed: list[tuple[Any, BaseException]] = []

    def check(subject: Subject, example: Any) -> None:
        try:
            relation.check(subject, example)
        except Exception as error:
            failed[:] = [(example, error)]
            raise

    name = f"{seed}/{relation.component}/{relation.slug}"
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    holds = tested(_with(relation, check), subject)
    try:
        hypothesis.seed(number)(attempt_settings(examples)(holds))()
    except Exception:
        if not failed:  # Hypothesis itself has failed
            raise
        example, error = failed[0]
        return f"{_said(error)}\nexample: {example!r}"
    return None


def _with(relation: Relation, check: Callable[[Subject, Any], None]) -> Relation:
    return Relation(
        relation.component, relation.slug, relation.statement, relation.invariant, relation.needs, relation.examples,
        check,
    )  # fmt: skip


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"


def attempt_settings(examples: int) -> settings:
    """Returns settings without deadline, database and health checks, so that a verdict depends only on the seed."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
