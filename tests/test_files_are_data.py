"""Files are data: none of them decides which program or module runs, or makes the suite write outside its folder."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable

import pytest

from conformance import cli
from conformance.campaigns import Inline, make_plan, start
from conformance.components.deque import DequeScenarioConfig
from conformance.ports import NotChosen, UnusableImplementation, check_chosen, is_built_in
from conformance.scenarios import Finding, Scenario, encode_scenario

MODULE = """
from pathlib import Path
from conformance.ports import find_implementation
Path(__file__).with_name("ran").touch()
def make():
    return find_implementation("reference")
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(params=["jsonl:sh -c 'touch \"$0\"' {}", "jsonl@sh -c 'touch \"$0\"' {}", "stranger_{}:make"])
def stranger(request, tmp_path, monkeypatch) -> tuple[str, Callable[[], bool]]:
    """An implementation that must not run, and whether it has run."""
    ran = tmp_path / "ran"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    if request.param.startswith("jsonl"):
        return request.param.format(shlex.quote(str(ran))), ran.exists
    (tmp_path / f"stranger_{tmp_path.name}.py").write_text(MODULE)
    return request.param.format(tmp_path.name), ran.exists


def scenario_of(name: str) -> str:
    finding = Finding("all-others-keep-their-order", "reordered", name)
    return encode_scenario(Scenario("deque", DequeScenarioConfig(), (("add", 0),), finding))


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_scenario_file_does_not_choose_what_runs(command, stranger, tmp_path, capsys):
    name, has_run = stranger
    (tmp_path / "a scenario.json").write_text(scenario_of(name))
    assert run(command, "a scenario.json") == 2
    assert not has_run()
    told = capsys.readouterr().err
    assert "a scenario.json names the implementation" in told
    line = told.splitlines()[-1]
    assert shlex.split(line) == ["conformance", command, "a scenario.json", "--implementation", name]
    run(*shlex.split(line)[1:])
    assert has_run()


def test_a_plan_and_a_result_do_not_choose_what_runs(stranger, tmp_path, capsys):
    name, has_run = stranger
    folder = tmp_path / "campaign"
    plan = make_plan("x", ["known-bug:B-01"], ["subpartition"], scenarios=20, block=20, budget=0)
    start(folder, plan, Inline())
    result = json.loads((folder / "result.json").read_text())
    result["implementations"][0]["name"] = name
    result["plan"]["implementations"] = [name]
    del result["checksum"]  # of an earlier version, without the blocks, which say what it is the result of
    (alone := tmp_path / "alone").mkdir()
    (alone / "result.json").write_text(json.dumps(result))
    assert run("campaign", "report", str(alone)) == 2
    assert shlex.split(capsys.readouterr().err.splitlines()[-1])[-2:] == ["--implementation", name]
    (folder / "plan.json").write_text(
        json.dumps(json.loads((folder / "plan.json").read_text()) | {"implementations": [name]})
    )
    shutil.rmtree(folder / "waves")
    assert run("campaign", "resume", str(folder), "--runner", "inline") == 2
    (folder / "result.json").unlink()
    capsys.readouterr()
    assert run("campaign", "resume", str(folder), "--runner", "inline") == 2
    assert not has_run()
    line = shlex.split(capsys.readouterr().err.splitlines()[-1])
    assert line == ["conformance", "campaign", "resume", str(folder), "--runner", "inline", "--implementation", name]
    run(*line[1:])
    assert has_run()


def test_a_list_of_known_failures_does_not_choose_what_runs(stranger, tmp_path):
    name, has_run = stranger
    (tmp_path / "scenario.json").write_text(scenario_of(name))
    entry = {"property": "all-others-keep-their-order", "component": "deque", "class": "reordered", "ticket": "X-1",
             "reason": "no", "scenario": "scenario.json", "implementation": name}  # fmt: skip
    lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    (tmp_path / "known.toml").write_text("\n".join(["[[failure]]", *lines]))
    assert run("check", "--component", "deque", "--scenarios", "5", "--known-failures", "known.toml") == 0
    assert not has_run()


@pytest.mark.slow  # a campaign that is interrupted and goes on
def test_a_campaign_of_ones_own_is_continued_with_the_line_that_it_ended_with(tmp_path, monkeypatch, capsys):
    """The message after Ctrl-C names what is not built in."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Inline, "opened", interrupted)
        names = ["--implementation", "reference", "--implementation", "tests.implementations:With"]
        small = ["--component", "subpartition", "--scenarios", "8"]
        assert run("campaign", "start", str(tmp_path / "c"), *names, *small, "--runner", "inline") == 130
    command = shlex.split(capsys.readouterr().err.rpartition("Continue with: ")[2])
    assert command[:4] == ["conformance", "campaign", "resume", str(tmp_path / "c")]
    assert run(*command[1:], "--runner", "inline") == 0


@pytest.mark.slow  # two campaigns and four commands
def test_once_a_campaign_has_ended_resume_asks_for_no_more_than_report(tmp_path, capsys):
    """A script that resumes a campaign every night does not know when it has ended."""
    fails, conforms = "tests.implementations:NothingToMake", "tests.implementations:With"
    plan = make_plan("x", ["reference", conforms, fails], ["subpartition"], scenarios=8, budget=0)
    start(folder := tmp_path / "c", plan, Inline())
    (beside := tmp_path / "none-fails").mkdir()
    start(beside, make_plan("x", ["reference", conforms], ["subpartition"], scenarios=8, budget=0), Inline())
    assert run("campaign", "resume", str(beside)) == 0
    asked = []
    for command in ("report", "resume"):
        assert run("campaign", command, str(folder)) == 2
        asked.append(shlex.split(capsys.readouterr().err.splitlines()[-1])[4:])
    assert asked == [["--implementation", fails]] * 2
    assert run("campaign", "resume", str(folder), "--implementation", fails, "--implementation", conforms) == 3


@pytest.mark.parametrize(
    "name",
    ["reference", "reference-in-memory", "known-bug:B-01", "legal-variant:V-G1", "flink-component",
     "flink-component@2.2.1", "flink-component@2.3-SNAPSHOT"],
)  # fmt: skip
def test_what_is_installed_is_built_in(name):
    assert is_built_in(name)


@pytest.mark.parametrize(
    "name",
    ["jsonl:sh", "jsonl@7", "jsonl@2.2.1", "module:object", "reference:x", "flink-component@../../x",
     "flink-component:x", "flink-component@sh -c x", "flink-component@2.2.1\n", "no-such", "", "@", ":", "reference@"],
)  # fmt: skip
def test_what_has_an_argument_is_not_built_in(name):
    assert not is_built_in(name)
    with pytest.raises(NotChosen, match="is not built in"):
        check_chosen([name], [], "the file")
    check_chosen([name], [name], "the file")


def test_to_choose_what_a_file_does_not_name_is_reported():
    with pytest.raises(UnusableImplementation, match="the file does not name 'b'; it names reference"):
        check_chosen(["reference"], ["b"], "the file")


def test_a_name_with_characters_that_hide_is_not_offered_for_pasting(tmp_path, capsys):
    (tmp_path / "s.json").write_text(scenario_of("jsonl:sh \x1b[2K\u202e"))
    assert run("replay", str(tmp_path / "s.json")) == 2
    told = capsys.readouterr().err
    assert "characters that cannot be seen" in told
    assert "\x1b" not in told
    assert "\u202e" not in told
