"""Tries a relation with Hypothesis, which draws examples and shrinks one for which it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import hypothesis
from hypothesis import given

from conformance.engines.hypothesis_check import reproducible_settings, seed_of
from conformance.relations.relation import Relation
from conformance.relations.subject import Subject


def tested(relation: Relation, subject: Subject) -> Callable[[], None]:
    """Returns a test of Hypothesis that tries a relation. It has no settings yet."""

    @given(example=relation.examples(subject.capabilities))
    def holds(example: Any) -> None:
        try:
            relation.check(subject, example)
        except BaseException:
            with suppress(Exception):  # it is the first error that says what is wrong
                subject.release_all()
            raise
        subject.release_all()

    return holds


def attempt(relation: Relation, subject: Subject, examples: int, seed: int | str) -> str | None:
    """Tries a relation. Returns why it does not hold, with the simplest example that was found; None if it holds for
    all examples. The same seed draws the same examples where the same modules are loaded (see `reproducible_settings`).

    An implementation that raises an error breaks the relation: no example asks for what must fail.
    """
    failed: list[tuple[Any, BaseException]] = []

    def check(subject: Subject, example: Any) -> None:
        try:
            relation.check(subject, example)
        except Exception as error:
            failed[:] = [(example, error)]
            raise

    holds = tested(replace(relation, check=check), subject)
    number = seed_of(f"{seed}/{relation.component}/{relation.slug}")
    try:
        hypothesis.seed(number)(reproducible_settings(examples)(holds))()
    except Exception:
        if not failed:  # Hypothesis itself has failed
            raise
        example, error = failed[0]
        return f"{_said(error)}\nexample: {example!r}"
    return None


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
