"""Scenarios survive being written and read, and a wrong file is reported in words, with line and field."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings

from conformance.components import COMPONENTS
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.engines import read_scenario, replay
from conformance.ports import find_implementation
from conformance.scenarios import (
    MOST_SCENARIO_BYTES,
    MOST_STEPS,
    Finding,
    Scenario,
    SchemaError,
    codec,
    decode_scenario,
    encode_history,
    encode_scenario,
    scenario_id,
)
from conformance.scenarios.former import STEPS_OF_SCHEMA_1, STEPS_OF_SCHEMA_2, step_as_of_today
from conformance.scenarios.former_gates import component_as_of_today
from strategies import scenarios

SMALL = Scenario(
    "subpartition", SubpartitionScenarioConfig(), (("add_buffer", 1), ("finish_recovery", True), ("poll",))
)


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_what_is_written_is_read_again(component):
    validator = jsonschema.Draft202012Validator(codec.schemas()["scenario.schema.json"])

    @given(scenarios(component))
    def check(scenario):
        text = encode_scenario(scenario)
        again = decode_scenario(text, COMPONENTS)
        assert again == scenario
        assert encode_scenario(again) == text
        validator.validate(json.loads(text))

    check()


def of_the_next_call(step):
    """In older files, a fault strikes the next call."""
    return (*step[:-1], 1) if step[0] == "fault" else step


def before_schema_3(step):
    return step[:-1] if step[0] == "fault" else step


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_a_scenario_of_schema_1_means_the_same(component):
    """The names of its steps were other ones; the rest of the file has not changed."""
    former = {today: then for then, today in STEPS_OF_SCHEMA_1.get(component, {}).items()}

    @given(scenarios(component))
    def check(scenario):
        scenario = msgspec.structs.replace(scenario, steps=tuple(map(of_the_next_call, scenario.steps)))
        written = json.loads(encode_scenario(scenario))
        written["schema"] = 1
        written["steps"] = [before_schema_3([former.get(step[0], step[0]), *step[1:]]) for step in written["steps"]]
        assert decode_scenario(json.dumps(written), COMPONENTS) == scenario

    check()


def test_the_table_of_former_names_leads_from_names_that_are_gone_to_names_that_are():
    for component, renamed in STEPS_OF_SCHEMA_1.items():
        today = {step.name for step in COMPONENTS[component_as_of_today(component)].steps}
        then = {*today, *STEPS_OF_SCHEMA_2.get(component, ())}
        assert not set(renamed) & then
        assert set(renamed.values()) <= then
        assert len(set(renamed.values())) == len(renamed)


def test_a_step_of_schema_2_has_the_form_of_a_step_of_today():
    for component, changed in STEPS_OF_SCHEMA_2.items():
        for then, (name, *more) in changed.items():
            steps = COMPONENTS[component_as_of_today(component)]
            today = steps.step(name)
            assert today is not None
            assert steps.step(then) is None
            given = list(today.operands.values())
            assert [type(one) for one in more] == given[len(given) - len(more) :]


@pytest.mark.parametrize(
    ("then", "today"),
    [
        (("barrier_after_end", 4, True), ("timeoutable_barrier", 4)),
        (("barrier_after_end", 4, False), ("unaligned_barrier", 4)),
        (("barrier_after_end", 4), ("barrier_after_end", 4)),
        (("fault", "writer", "throws"), ("fault", "writer", "throws", 1)),
        (("fault", "writer"), ("fault", "writer")),
        ((), ()),
    ],
)
def test_a_step_of_an_earlier_schema_has_the_name_and_the_operands_of_today(then, today):
    assert step_as_of_today(2, "subpartition", then) == today
    assert step_as_of_today(1, "subpartition", then) == today
    assert step_as_of_today(3, "subpartition", then) == then


def test_a_former_name_is_unknown_in_a_file_of_today():
    text = encode_scenario(SMALL).replace("add_buffer", "add")
    with pytest.raises(SchemaError, match="has no step 'add'"):
        decode_scenario(text, COMPONENTS)
    assert decode_scenario(text.replace('"schema": 3', '"schema": 1'), COMPONENTS) == SMALL


def test_the_finding_is_kept_and_does_not_change_the_id():
    finding = Finding("a-property", "lost", "reference")
    evidence = Scenario(SMALL.component, SMALL.config, SMALL.steps, finding)
    assert decode_scenario(encode_scenario(evidence), COMPONENTS).finding == finding
    assert scenario_id(evidence) == scenario_id(SMALL)


def test_one_step_stands_on_each_line():
    lines = encode_scenario(SMALL).splitlines()
    assert '    ["add_buffer", 1],' in lines
    assert '    ["poll"]' in lines


@pytest.mark.parametrize("name", sorted(codec.schemas()))
def test_the_published_schemas_are_those_that_hold(name):
    published = json.loads(files("conformance.scenarios").joinpath(name).read_text())
    assert published == json.loads(json.dumps(codec.schemas()[name]))


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_a_history_keeps_to_its_schema(component):
    implementation = find_implementation("reference")
    validator = jsonschema.Draft202012Validator(codec.schemas()["history.schema.json"])

    @settings(max_examples=8, deadline=None)
    @given(scenarios(component))
    def check(scenario):
        text = encode_history(replay(scenario, implementation).history, "reference")
        validator.validate(json.loads(text))

    check()


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (('"schema": 3', '"schema": 4'), 2, "field schema: this suite reads schema versions 1 to 3, found 4"),
        (('"schema": 3', '"schema": 0'), 2, "found 0"),
        (('"schema": 3', '"schema": true'), 2, "found True"),
        (('"schema": 3,\n', ""), 1, "found None"),
        (('"subpartition"', '"subpartion"'), 3, "field component: there is no component 'subpartion'"),
        (('"recovered": null', '"recovered": "two"'), 4, "field config.recovered"),
        (('"recovered": null', '"recoverd": null'), 4, "recoverd"),
        (
            ('["add_buffer", 1]', '["adds", 1]'),
            6,
            "field steps[0]: subpartition has no step 'adds'; it has abort_checkpoint,",
        ),
        (('["add_buffer", 1]', '["add_buffer"]'), 6, "step 'add_buffer' takes 1 operand (records), found 0"),
        (
            ('["add_buffer", 1]', '["add_buffer", "one"]'),
            6,
            "operand records of step 'add_buffer' must be of type int, found \"one\"",
        ),
        (('["finish_recovery", true]', '["finish_recovery", 1]'), 7, "must be of type bool"),
        (('["poll"]', "[]"), 8, "a step is a list that begins with its name"),
        (('["poll"]', '["poll", {}]'), 8, "steps[2]"),
        (('"steps": [', '"step": ['), 1, "unknown field `step`"),
    ],
)
def test_a_wrong_file_is_reported_with_line_and_field(change, line, said):
    text = encode_scenario(SMALL)
    assert change[0] in text
    with pytest.raises(SchemaError) as caught:
        decode_scenario(text.replace(*change), COMPONENTS, "bug.json")
    assert f"bug.json, line {line}, " in str(caught.value)
    assert said in str(caught.value)


def test_a_scenario_has_a_limit_of_steps(tmp_path):
    longest = Scenario(SMALL.component, SMALL.config, (("poll",),) * MOST_STEPS)
    assert decode_scenario(encode_scenario(longest), COMPONENTS) == longest
    longer = Scenario(SMALL.component, SMALL.config, (*longest.steps, ("poll",)))
    with pytest.raises(SchemaError) as caught:
        decode_scenario(encode_scenario(longer), COMPONENTS, "bug.json")
    assert "bug.json, line 5, field steps: a scenario has at most 10,000 steps, and this one 10,001;" in str(
        caught.value
    )
    with pytest.raises(msgspec.ValidationError, match=r"length <= 10000 - at `\$\.steps`"):  # as a part of other files
        msgspec.convert(json.loads(encode_scenario(longer)), codec.ScenarioFile)
    (tmp_path / "large.json").write_text(encode_scenario(SMALL) + " " * MOST_SCENARIO_BYTES)
    with pytest.raises(SchemaError, match=r"large\.json: the file is larger than 4 MiB"):
        read_scenario(tmp_path / "large.json")


@pytest.mark.parametrize("kept", [0, 1, 40, 120])
def test_a_truncated_file_is_reported(kept):
    with pytest.raises(SchemaError, match=r"line \d+.*damaged or was cut off"):
        decode_scenario(encode_scenario(SMALL)[:kept], COMPONENTS)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"'])
def test_json_of_another_kind_is_reported(text):
    with pytest.raises(SchemaError, match="schema versions 1 to 3"):
        decode_scenario(text, COMPONENTS)
