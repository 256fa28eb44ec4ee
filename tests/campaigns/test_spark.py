from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.campaigns import (
    CampaignError,
    CampaignInterrupted,
    Inline,
    RunnerUnavailable,
    Spark,
    choose,
    make_plan,
    spark_tasks,
    start,
)
from conformance.campaigns.spark_packages import pack
from conformance.campaigns.spark_setup import Java, find_java, spark_problem
from tests.campaigns import dying_tasks
from tests.campaigns.dying import MARK

NAMES = ("reference", "reference-recover-first", "known-bug:B-01")
PROBLEM = spark_problem()


def spark_test(function):
    """A test that starts a JVM; all of them on one worker."""
    function = pytest.mark.skipif(PROBLEM is not None, reason=PROBLEM or "")(function)
    return pytest.mark.spark(pytest.mark.xdist_group("spark")(function))


@spark_test
def test_spark_comes_to_the_same_bytes_and_says_nothing(tmp_path, capfd):
    """Also in a folder whose name has what Spark would escape, or take for a pattern."""
    folder = tmp_path / "on [spark] ü%20"
    plan = make_plan("spark", NAMES, scenarios=20, budget=100)
    handler = signal.getsignal(signal.SIGINT)
    variables = dict(os.environ)
    result = start(folder, plan, Spark(workers=2))
    assert result.differences
    assert any(part.findings for part in result.implementations[2].components)
    assert capfd.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is handler
    assert dict(os.environ) == variables
    start(tmp_path / "inline", plan, Inline())
    assert {one.name for one in tmp_path.iterdir()} == {folder.name, "inline"}
    assert (folder / "result.json").read_bytes() == (tmp_path / "inline" / "result.json").read_bytes()


@pytest.mark.slow  # a JVM of its own; the test above tries the runner by default
@spark_test
def test_an_interrupt_is_quiet_and_leaves_what_was_committed(tmp_path, capfd):
    """pyspark printed a traceback when the JVM closed its connection."""

    def watch(state):
        raise KeyboardInterrupt

    plan = make_plan("spark", NAMES, ["deque", "subpartition"], scenarios=100, block=5)
    with pytest.raises(CampaignInterrupted, match="8 blocks were committed"):
        start(tmp_path / "spark", plan, Spark(workers=2), watch)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow  # a JVM of its own; the test above tries the runner by default
@spark_test
def test_an_implementation_that_ends_its_process_costs_nobody_else_anything(tmp_path):
    names = ["reference", "tests.campaigns.dying:in_deque"]
    plan = make_plan("spark", names, ["deque", "subpartition"], scenarios=4, block=4)
    result = start(tmp_path / "spark", plan, Spark(workers=2, attempts=2))
    assert result.lost_blocks == ()
    start(tmp_path / "inline", plan, Inline())
    assert (tmp_path / "spark" / "result.json").read_bytes() == (tmp_path / "inline" / "result.json").read_bytes()


@pytest.mark.slow  # a JVM of its own, and the processes that it starts again
@spark_test
def test_jobs_whose_processes_die_in_each_attempt_are_run_again(tmp_path, monkeypatch):
    """The JVM was ended then, with which they are run again; and the sum was refused, whose folder was there."""
    monkeypatch.setenv(MARK, str(tmp_path / "deaths"))
    monkeypatch.setattr(spark_tasks, "running", dying_tasks.running)
    monkeypatch.setattr(spark_tasks, "adding_group", dying_tasks.adding_group)
    plan = make_plan("spark", ["reference"], ["deque"], scenarios=8)
    result = start(tmp_path / "spark", plan, Spark(workers=1, attempts=dying_tasks.ATTEMPTS))
    assert result.lost_blocks == ()
    assert [(tmp_path / f"deaths-{what}").read_text() for what in ("running", "adding")] == ["xx", "xx"]


@pytest.mark.slow  # a JVM of its own, and a program of its own for each block
@spark_test
def test_a_program_of_json_lines_comes_to_the_same_bytes(tmp_path):
    name = "reference-recover-first"
    program = f"jsonl:{shlex.join([sys.executable, '-m', 'conformance.bridges.jsonl', 'serve', name])}"
    plan = make_plan("spark", ["reference", program, name], ["subpartition"], scenarios=12, block=6, budget=40)
    result = start(tmp_path / "spark", plan, Spark(workers=2))
    assert result.lost_blocks == ()
    parts = {one.name: one.components[0] for one in result.implementations}
    assert parts[program] == parts[name], "what is behind the program"
    one, other = (
        [replace(found, implementation="") for found in result.differences if found.implementation == of]
        for of in (program, name)
    )
    assert one == other
    start(tmp_path / "inline", plan, Inline())
    assert (tmp_path / "spark" / "result.json").read_bytes() == (tmp_path / "inline" / "result.json").read_bytes()


def test_a_java_that_cannot_start_spark_is_named_with_what_it_said(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho Error: module jdk.incubator.vector not found >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    plan = make_plan("spark", NAMES[:1], ["deque"], scenarios=1)
    pytest.importorskip("pyspark")
    with pytest.raises(RunnerUnavailable, match=r"could not be started on local\[2,4\]: .*jdk.incubator.vector"):
        start(tmp_path / "c", plan, Spark(workers=2, java=lambda: Java("java", 17)))
    assert not (tmp_path / "c").exists()


# ---- what is missing -------------------------------------------------------------------------------------------------
def java(version):
    return lambda: Java("some/java", version)


def has(name):
    return True


def has_not(name):
    return False


@pytest.mark.parametrize("version", [17, 21])
def test_nothing_is_missing(version):
    assert spark_problem(java(version), has) is None
    runner, paragraph = choose("auto", java=java(version), has=has)
    assert (runner.name, paragraph) == ("spark", None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: None, "it needs Java 17 or 21, but there is none"),
        (java(11), "it needs Java 17 or 21, but some/java is Java 11"),
        (java(25), "it needs Java 17 or 21, but some/java is Java 25"),
        (java(None), "it needs Java 17 or 21, but some/java does not say which version it is"),
    ],
)
def test_java_is_missing_or_wrong(found, expected):
    problem = spark_problem(found, has)
    assert problem is not None
    assert expected in problem
    for line in ("sudo apt-get install openjdk-17-jre-headless", "sudo dnf install java-21", "brew install openjdk@21"):
        assert line in problem
    assert "pip install" not in problem
    assert "\n" not in problem
    runner, paragraph = choose("auto", java=found, has=has)
    assert (runner.name, paragraph) == ("processes", problem)
    with pytest.raises(RunnerUnavailable, match="it needs Java"):
        choose("spark", java=found, has=has)
    with pytest.raises(RunnerUnavailable, match="it needs Java"):
        choose("auto", master="spark://there:7077", java=found, has=has)


def test_pyspark_is_missing(tmp_path):
    problem = spark_problem(java(17), has_not)
    assert problem is not None
    assert "pyspark, pandas are not installed" in problem
    assert "pip install 'checkpoint-conformance[spark]'" in problem
    assert "apt-get" not in problem
    plan = make_plan("spark", NAMES[:1], ["deque"], scenarios=1)
    with pytest.raises(RunnerUnavailable, match="pyspark, pandas are not installed"):
        start(tmp_path / "c", plan, Spark(java=java(17), has=has_not))
    assert not (tmp_path / "c").exists()


def test_both_are_missing():
    problem = spark_problem(lambda: None, has_not)
    assert problem is not None
    assert "pyspark, pandas are not installed, and it needs Java" in problem
    assert "pip install" in problem
    assert "apt-get" in problem


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19 LTS', 21),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx\nopenjdk version "21.0.2" 2024-01-16', 21),
        ("what?", None),
    ],
)
def test_the_version_of_java_is_read(text, version):
    found = find_java({"JAVA_HOME": "home"}, lambda name: "elsewhere", lambda command: text)
    assert found == Java(str(Path("home", "bin", "java")), version)


def test_where_java_is_looked_for():
    assert find_java({}, lambda name: "path/java", lambda command: 'version "17"') == Java("path/java", 17)
    assert find_java({}, lambda name: None) is None
    assert find_java({"JAVA_HOME": "no/such/folder"}, lambda name: "path/java") is None


def test_only_what_is_missing_is_named():
    problem = spark_problem(java(17), lambda name: name != "pandas")
    assert problem is not None
    assert "pandas is not installed" in problem
    assert "pyspark is" not in problem


def test_runners_by_name():
    for name in ("inline", "processes"):
        runner, paragraph = choose(name)
        assert (runner.name, paragraph) == (name, None)
    with pytest.raises(CampaignError, match="There is no runner 'sparc'; there are auto, inline, processes and spark"):
        choose("sparc")
    with pytest.raises(CampaignError, match="--master names a Spark cluster, which the runner inline does not use"):
        choose("inline", master="yarn")


def test_a_connect_server_needs_packages_and_no_java(tmp_path):
    assert spark_problem(lambda: None, has, connects=True) is None
    problem = spark_problem(lambda: None, lambda name: name == "pyspark", connects=True)
    assert problem is not None
    assert "pandas, grpc, grpc_status, google.rpc, zstandard are not installed" in problem
    assert "Java" not in problem
    plan = make_plan("spark", NAMES[:1], ["deque"], scenarios=1)
    with pytest.raises(RunnerUnavailable, match="pandas, grpc"):
        start(tmp_path / "c", plan, Spark("sc://there", java=java(17), has=lambda name: name == "pyspark"))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(("master", "local"), [(None, True), ("local", True), ("local[*]", True), ("yarn", False)])
def test_which_masters_are_local(master, local):
    assert Spark(master).local is local


def test_the_packages_for_executors_can_be_found_by_name(tmp_path):
    path = pack(tmp_path / "packages.zip")
    names = zipfile.ZipFile(path).namelist()
    assert {"conformance/__init__.py", "conformance/py.typed", "reference_impl/__init__.py"} <= set(names)
    assert not any("__pycache__" in name for name in names)
    (packed,) = distributions(path=[str(path)])
    assert any(point.name == "reference" for point in packed.entry_points)


def test_campaigns_do_not_need_pyspark():
    code = "import sys; sys.modules['pyspark'] = None; import conformance.campaigns as c; c.choose('auto')[0].name"
    subprocess.run([sys.executable, "-c", code], check=True)
