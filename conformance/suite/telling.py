"""What a failing test says: the rule, the steps with their outcomes, and the line that replays the scenario."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Iterable

from conformance.driver import Property
from conformance.engines.replay import Replay
from conformance.ports import Capability, Implementation, UnusableImplementation, find_implementation
from conformance.relations import Relation
from conformance.reporting.specification import rule_text, specification_reference
from conformance.reporting.story import Story, tell
from conformance.scenarios import Scenario, encode_scenario
from conformance.system.text import neutral_lines

WIDTH = 100
"""How wide a paragraph of the specification is, in characters. A step or a command is as long as it is."""

FILE = "failing-scenario.json"
"""Where the command writes the scenario. Pipes are not read."""

TO_REPLACE = "replace module:object with yours: the class of this implementation is not found by its name"
"""What is said behind a command, where its shell reads no further."""


def told(found: Replay, implementation: Implementation, assumed: Iterable[Capability]) -> str:
    """Returns the rule that a replay broke, its steps, and the line that replays it. An implementation that behaves
    otherwise in the replay is not deterministic, which is said in place of the rule."""
    if found.violation is not None:
        head = rule_told(found.violation.property)
    else:
        head = [f"Run again, the scenario is {found.verdict}: the implementation is not deterministic."]
    return neutral_lines(
        (*head, *steps_told(tell(found)), "", command(found.history.scenario, implementation, assumed))
    )


def rule_told(judged: Property) -> list[str]:
    """Returns the place and the paragraph of the rule that a property judges; nothing if it judges none."""
    if not judged.invariant:
        return []
    text = (rule_text(judged.component, judged.invariant) or "").replace("**", "")  # bold in Markdown
    return textwrap.wrap(f"rule: {specification_reference(judged)} {text}", WIDTH, subsequent_indent="      ")


def steps_told(story: Story) -> list[str]:
    """Returns one line for each step that was performed: who acts, the step, its outcome, and what is special."""
    done = [one for one in story.steps if one.answer]
    who = max((len(one.actor) for one in done), default=0)
    what = max((len(one.step) for one in done), default=0)
    return [
        f"  {one.number:2} {one.actor:{who}}  {one.step:{what}}  {one.outcome}  {one.remark}".rstrip() for one in done
    ]


def command(scenario: Scenario, implementation: Implementation, assumed: Iterable[Capability]) -> str:
    """Returns the command that writes a scenario to a file and replays it. It is one line, since a tool that shows the
    message may put something in front of each line. If no name leads to the implementation, a comment says so."""
    text = json.dumps(json.loads(encode_scenario(scenario)), separators=(",", ":"))
    name = _name(implementation)
    replaying = ["conformance", "replay", FILE, "--implementation", name or "module:object"]
    for one in sorted(assumed):
        replaying += ["--assume", one.value]
    to_do = "" if name else f"  # {TO_REPLACE}"
    return f"printf %s {shlex.quote(text)} > {FILE} && {shlex.join(replaying)}{to_do}"


def _name(implementation: Implementation) -> str | None:
    """Returns the name by which a command finds an implementation: a registered one, or that of its class. None if
    neither is found, as a class that was made inside a function."""
    try:
        registered = type(find_implementation(implementation.name)).__qualname__ == type(implementation).__qualname__
    except (UnusableImplementation, ValueError, KeyError):
        registered = False
    if registered:
        return implementation.name
    kind = type(implementation)
    found: object = sys.modules.get(kind.__module__)
    for one in kind.__qualname__.split("."):
        found = getattr(found, one, None)
    return f"{kind.__module__}:{kind.__qualname__}" if found is kind and kind.__module__ != "__main__" else None


def relation_told(relation: Relation, why: str) -> list[str]:
    """Returns what a failing test says of a relation: its statement, and why it does not hold."""
    head = f"{relation.component}: {relation.slug} ({relation.invariant})"
    return [head, *textwrap.wrap(relation.statement, WIDTH), *why.splitlines()]
