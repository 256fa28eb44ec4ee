"""A check ends, also where an implementation crashes or hangs at every turn, and says what it could not find out."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Level, Program, Verdict
from conformance.engines import check, check_with_hypothesis
from conformance.engines.check import check_part, search_range
from conformance.engines.patience import PATIENCE
from conformance.engines.search import Search, seeds
from conformance.engines.tally import Counter
from conformance.ports import BufferAndBacklog, ErrorKind, PortError, find_implementation
from conformance.reporting.claims import idle_in_words
from conformance.scenarios import Finding
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.network.subpartition import Subpartition
from tests.implementations import NothingToMake, With


class Hanging(Subpartition):
    """Returns nothing within its time limit, as a bridge would report it."""

    calls = 0

    def attach_view(self) -> None:
        type(self).calls += 1
        raise PortError(ErrorKind.HUNG, "no answer within 20 seconds")


def ready(implementation) -> Program:
    return Program(COMPONENTS["subpartition"], implementation)


def test_a_search_stops_where_everything_crashes():
    result = check(ready(NothingToMake()), 1000, 0)
    assert result.found[0].count == PATIENCE["crashed"]  # one of them in the corpus
    assert result.found[0].failure_class == "crashed"
    verdicts = {one.slug: result.verdict(one) for one in result.program.component.properties}
    assert verdicts[ANSWERS] is Verdict.FAILED
    assert verdicts["sequence-numbers-have-no-gaps"] is Verdict.UNKNOWN


def test_an_untestable_property_has_not_passed():
    result = check(Program(COMPONENTS["recovered-channel"], find_implementation("reference")), 20, 0)
    untestable = [one for one in result.program.properties if one.level is Level.UNTESTABLE]
    assert {result.verdict(one) for one in untestable} == {Verdict.NOT_EXERCISED}


@pytest.mark.parametrize("engine", [check, check_with_hypothesis])
def test_nothing_is_run_if_no_configuration_is_understood(engine):
    claimless = type("Claimless", (Reference,), {"capabilities": frozenset()})("claimless", PUSHED)
    result = engine(Program(COMPONENTS["chain"], claimless), 20, 0)
    assert (result.tally.scenarios, result.idle, result.clean) == (0, True, True)
    said = (
        "nothing of chain was put to the test in 0 scenarios: it is not made with what is claimed in any configuration"
    )
    assert idle_in_words(result) == f"{said}. The nearest one needs persisted-readback, recover-by-pushing, too."


def test_a_hang_is_waited_for_as_rarely_as_possible():
    Hanging.calls = 0
    result = check(ready(With(Hanging)), 1000, 0)
    assert Hanging.calls == PATIENCE["hung"]
    assert {one.failure_class for one in result.found} == {"hung"}
    assert "the scenario was not reduced" in result.found[0].observed


def test_a_range_is_the_same_in_every_process():
    program = ready(With())
    whole, first, second = (search_range(program, "r", numbers) for numbers in (range(60), range(25), range(25, 60)))
    second.merge(first)
    assert second == whole


def test_a_violation_is_found_with_the_scenario_that_is_its_evidence():
    (found,) = check(ready(NothingToMake()), 3, 0, budget=1).found
    assert found.scenario.finding == Finding(found.slug, found.failure_class, NothingToMake().name)
    assert found.signature[:2] == (found.slug, found.failure_class)


def test_each_setting_counts_the_scenarios_in_which_it_was_met():
    program = ready(With())
    counter = Counter(program)
    scenario, run = Search(program).run("0")
    for times in (1, 2):
        counter.add(scenario, run)
        tally = counter.tally()
        assert tally.scenarios == times
        assert {cases.scenarios for cases in tally.settings.values()} == {times}


def test_a_failure_has_the_number_of_the_first_scenario_that_showed_it():
    program = Program(COMPONENTS["subpartition"], find_implementation("known-bug:B-01"))
    parts = [search_range(program, "first", range(start, start + 40)) for start in (80, 0, 40)]
    whole = parts[0]
    whole.merge(parts[2])
    whole.merge(parts[1])
    assert whole.failures
    texts = list(seeds("first", "subpartition", range(120)))
    for signature, failure in whole.failures.items():
        failed = [
            number
            for number, text in enumerate(texts)
            if (violation := Search(program).run(text)[1].violation) and violation.signature == signature
        ]
        assert failure.first == failed[0]


def test_what_only_the_corpus_shows_has_no_number():
    result = check(ready(find_implementation("known-bug:B-01")), 0, 0)
    assert result.found
    assert {one.first for one in result.found} == {None}


def test_no_scenarios_are_no_evidence():
    result = check(ready(With()), 0, 0)
    assert result.idle
    assert result.clean
    assert {result.verdict(one) for one in result.program.properties} == {Verdict.NOT_EXERCISED}


class Moody(Subpartition):
    """Fails on every third flush of the process: not a function of the scenario."""

    flushes = 0

    def flush(self) -> None:
        type(self).flushes += 1
        if type(self).flushes % 3 == 0:
            raise RuntimeError("not in the mood")
        super().flush()


def test_an_implementation_that_is_not_deterministic_is_a_finding_for_both_engines():
    for run in (check, check_with_hypothesis):
        result = run(ready(With(Moody)), 60, 0)
        assert result.found
        assert {one.slug for one in result.found} == {ANSWERS}


def test_hypothesis_says_after_each_scenario_how_many_are_done():
    done: list[int] = []
    check_with_hypothesis(Program(COMPONENTS["deque"], find_implementation("reference")), 5, 0, done.append)
    assert done == [1, 2, 3, 4, 5]


class Once(Subpartition):
    """Loses one element, and never again."""

    left = 1

    def poll(self) -> BufferAndBacklog | None:
        found = super().poll()
        if found is not None and type(self).left:
            type(self).left = 0
            return None
        return found


def test_no_capability_is_advised_for_what_does_not_fail_again(monkeypatch):
    monkeypatch.setattr(Once, "left", 1)
    result = check_part(ready(With(Once)), "0", range(20), corpus=False)
    assert result.found
    for one in result.found:
        assert one.unclaimed == ()
        assert one.observed.endswith("run again, it does not fail, so the implementation is not deterministic)")
