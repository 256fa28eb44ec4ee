"""In which settings properties were judged: gaps, holes, and sums that do not depend on the order."""

from __future__ import annotations

from dataclasses import replace

from conformance.components import COMPONENTS
from conformance.driver import Judgement, Never, Program, Property, Seen, Setting, Settings, Unsure
from conformance.engines.check import search_range
from conformance.engines.exercise import Cell, Exercise, can, cases_of, cells, exercise_of, gaps, holes
from conformance.engines.explore import Explorer
from conformance.engines.scope import scope_of
from conformance.models.designs import recovers
from conformance.ports import Capability, Recovery, find_implementation
from tests.engines.toy import TOY, ToyLedger
from tests.engines.toy_gate import Toy

ONE_SIDED, DOUBTFUL = "takes-are-counted-before-the-conversion", "takes-are-counted-now-and-then"
STAGES = {False: "before conversion", True: "after conversion"}
SETTINGS = Settings(lambda ledger: all(ledger.converted), STAGES, lambda config: ["local", "remote"][: config.channels])


def only_before(ledger: ToyLedger, seen: Seen[tuple[int, int]]) -> Judgement:
    return not all(ledger.converted)


def seldom_sure(ledger: ToyLedger, seen: Seen[tuple[int, int]]) -> Judgement:
    return True if sum(ledger.taken) % 4 == 1 else Unsure("it is a toy")


def toy(*never: Never, settings: Settings = SETTINGS) -> Program:
    rules = (
        Property(ONE_SIDED, "A toy.", "toy-gate", ("take",), only_before, never=never),
        Property(DOUBTFUL, "A toy.", "toy-gate", ("take",), seldom_sure),
    )
    return Program(replace(TOY, properties=(*TOY.properties, *rules), settings=settings), Toy())


def test_a_rule_that_is_judged_in_one_stage_only_is_shown_so():
    program = toy()
    tally = search_range(program, "gaps", range(200))
    assert [(one.slug, str(one.where)) for one in gaps(program, tally)] == [(ONE_SIDED, "after conversion")]
    assert gaps(program, tally)[0].steps > 100


def test_a_gap_that_the_component_declares_is_none():
    never = Never(Setting(stage="after conversion"), "A toy.")
    program = toy(never)
    assert gaps(program, search_range(program, "gaps", range(200))) == []
    narrow = Never(Setting(stage="after conversion", interleaving="fine"), "A toy.")
    program = toy(narrow)
    assert [str(one.where) for one in gaps(program, search_range(program, "gaps", range(200)))] != []


def test_few_steps_are_no_gap():
    program = toy()
    assert gaps(program, search_range(program, "gaps", range(2))) == []


def test_a_rule_that_is_mostly_unsure_is_a_hole():
    program = toy()
    tally = search_range(program, "holes", range(60))
    (hole,) = holes(program, tally)
    assert hole.slug == DOUBTFUL
    assert hole.unsure > hole.judged > 0
    takes = sum(cases.steps.get("take", 0) for cases in tally.settings.values())
    assert hole.unsure + hole.judged == takes


def test_steps_are_counted_at_the_channel_that_they_concern():
    program = toy()
    tally = search_range(program, "channels", range(60))
    assert {one.channel for one in tally.settings} == {
        "a local channel", "a remote channel", "local channels", "local and remote channels"
    }  # fmt: skip
    for setting, cases in tally.settings.items():
        one = setting.channel.startswith("a ")
        assert ("push" in cases.steps) <= one
        assert ("start_checkpoint" in cases.steps) <= (not one)
    assert sum(sum(cases.steps.values()) for cases in tally.settings.values()) <= tally.steps + tally.closing_steps


def test_cells_say_where_steps_were_performed_and_the_property_was_not_judged():
    program = toy()
    tally = search_range(program, "cells", range(100))
    (judged,) = (one for one in program.properties if one.slug == ONE_SIDED)
    every = cells(judged, tally)
    assert every == {
        setting: Cell(cases.steps["take"], cases.judged.get(ONE_SIDED, 0))
        for setting, cases in tally.settings.items()
        if "take" in cases.steps
    }
    assert all((cell.judged == 0) == (setting.stage == "after conversion") for setting, cell in every.items())


def test_the_order_of_merging_does_not_matter():
    program = toy()
    whole = search_range(program, "merge", range(60))
    parts = [search_range(program, "merge", numbers) for numbers in (range(7), range(7, 30), range(30, 60))]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        total = search_range(program, "merge", range(0))
        for at in order:
            total.merge(parts[at])
        assert total == whole
        assert exercise_of(total) == exercise_of(whole)


def test_what_is_written_can_be_read():
    tally = search_range(toy(), "written", range(30))
    exercise = exercise_of(tally)
    assert type(exercise) is Exercise
    assert cases_of(exercise) == tally.settings
    assert exercise.unsure == tally.unsure


def test_a_restored_chain_counts_in_its_own_design():
    program = Program(COMPONENTS["chain"], find_implementation("reference"))
    program = program.within(
        one for one in program.configs if one.recovery == "none" and one.recoveries == ("recover-first",)
    )
    tally = search_range(program, "restored", range(60))
    assert {one.recovery for one in tally.settings} == {"none", "recover-first"}
    assert {one.stage for one in tally.settings if one.recovery == "none"} == {""}


def test_every_exception_names_a_property_and_a_setting():
    for component in COMPONENTS.values():
        for never in (never for one in component.properties for never in one.never):
            assert any(never.where)
            assert never.where.stage in ("", *component.settings.stages.values())
            assert never.why.endswith(".")


def test_why_a_rule_is_unsure_is_counted():
    tally = search_range(toy(), "unsure", range(50))
    assert tally.unsure == {DOUBTFUL: tally.reasons[DOUBTFUL, "it is a toy"]}
    twice = search_range(toy(), "unsure", range(50))
    twice.merge(tally)
    assert twice.reasons[DOUBTFUL, "it is a toy"] == 2 * tally.unsure[DOUBTFUL]


def test_counting_adds_no_states():
    program, counted = Program(TOY, Toy()), toy()
    scope = scope_of(TOY, {"arrivals": "1", "takes": "1"})
    plain = Explorer(program, scope).explore(None, 10_000)
    assert Explorer(counted, scope).explore(None, 10_000).states == plain.states


def test_a_property_that_needs_a_recovery_design_is_about_no_other():
    designs = [one.value for one in Recovery if one is not Recovery.NONE]

    def judged_in(needs: frozenset[Capability]) -> list[str]:
        judged = Property(DOUBTFUL, "A toy.", "toy-gate", ("take",), seldom_sure, needs=needs)
        return [one for one in designs if can(judged, toy(), Setting(recovery=one))]

    assert judged_in(frozenset()) == designs
    for design in designs:
        assert judged_in(recovers(design)) == [design]
        assert judged_in(recovers(design) | {Capability.RESOURCES}) == [design]
