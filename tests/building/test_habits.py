"""What runs the checks calls what exists: the workflow, the form of a bug report, and the hooks of commits."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FIRST_RULED = "c5d8323571ace04b9a6997b49688b241b9ddc5f4"
"""The last commit before the rule for subjects."""
LONGEST_SUBJECT = 72


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


WORKFLOW = read(".github/workflows/ci.yml")
NIGHTLY = read(".github/workflows/nightly.yml")
JOBS = [*WORKFLOW["jobs"].items(), *NIGHTLY["jobs"].items()]
RUNS = [(job, step["run"]) for job, about in JOBS for step in about["steps"] if "run" in step]
ACTIONS = [step["uses"] for _, about in JOBS for step in about["steps"] if "uses" in step]


def test_there_are_five_jobs_and_each_runs_something():
    assert [job for job, _ in JOBS] == [job for job, _ in RUNS] == ["lint", "tests", "spark", "docs", "campaign"]


def test_the_night_leaves_time_to_reduce_and_keeps_what_the_next_one_compares_with():
    (job,) = NIGHTLY["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "run" in step)
    (minutes,) = re.findall(r"MINUTES=(\d+)", command)
    assert int(minutes) <= job["timeout-minutes"] - 20
    (kept,) = (step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/cache@"))
    assert kept["key"].startswith(kept["restore-keys"])
    target = MAKEFILE[MAKEFILE.index("\ncampaign-nightly:") :].split("\n\n")[0]
    assert f"campaign start {kept['path']} " in target
    assert f"$(wildcard {kept['path']}/plan.json),--since build/last-night" in target


@pytest.mark.parametrize(("job", "command"), RUNS)
def test_a_job_calls_one_target_of_the_makefile(job, command):
    called = re.fullmatch(r"make ([a-z-]+)((?: [A-Z]+=\w+)*)", command)
    assert called is not None, f"{job}: {command!r} is more than a target and variables"
    assert re.search(rf"^{called[1]}:.* ## ", MAKEFILE, re.MULTILINE), f"the Makefile has no target {called[1]}"
    for variable in re.findall(r"([A-Z]+)=", called[2]):
        assert re.search(rf"^{variable} *[?]=", MAKEFILE, re.MULTILINE), f"the Makefile has no variable {variable}"


def test_every_supported_python_is_tested():
    tested = WORKFLOW["jobs"]["tests"]["strategy"]["matrix"]["python"]
    promised = [one.removeprefix("Programming Language :: Python :: ") for one in PROJECT["classifiers"] if "3." in one]
    assert tested == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    used = {about["with"]["python-version"] for _, job in JOBS for about in job["steps"]
            if "python-version" in about.get("with", {})}  # fmt: skip
    assert used <= {*promised, "${{ matrix.python }}"}


def test_jobs_may_read_only_and_end():
    assert WORKFLOW["permissions"] == NIGHTLY["permissions"] == {"contents": "read"}
    for _, job in JOBS:
        assert "permissions" not in job
        assert job["timeout-minutes"] <= 60
        assert "latest" not in job["runs-on"]


@pytest.mark.parametrize("action", sorted(set(ACTIONS)))
def test_an_action_is_of_the_host_itself_and_pinned_to_a_major_version(action):
    assert re.fullmatch(r"actions/[a-z-]+@v\d+", action)


def test_no_checkout_leaves_its_credentials():
    checkouts = [step for _, about in JOBS for step in about["steps"]
                 if step.get("uses", "").startswith("actions/checkout@")]  # fmt: skip
    assert len(checkouts) == len(JOBS)
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_form_asks_for_the_bug_report_folder():
    form = read(".github/ISSUE_TEMPLATE/bug_report.yml")
    fields = {one["id"]: one for one in form["body"] if "id" in one}
    assert len(fields) == sum(one["type"] != "markdown" for one in form["body"]), "an id was given twice"
    assert {one["type"] for one in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    folder = fields["folder"]
    assert folder["validations"]["required"]
    written = ("report.md", "scenario.json", "history.json", "test_reproduce.py", "calls.jsonl", "answers.jsonl")
    source = (ROOT / "conformance" / "reporting" / "bug_report.py").read_text(encoding="utf-8")
    for name in written:
        assert name in folder["attributes"]["description"]
        assert f'"{name}"' in source


def test_the_hooks_of_commits_run_the_tools_of_the_environment():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local", "a pin of somebody else's repository would be made up"
    programs = {one["entry"].split()[0] for one in repository["hooks"] if one["language"] == "system"}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy"}
    (subject,) = (one for one in repository["hooks"] if one["language"] == "pygrep")
    pattern = re.compile(subject["entry"], re.MULTILINE | re.DOTALL)
    assert not pattern.search("x" * LONGEST_SUBJECT + "\n\n" + "y" * 100)
    assert pattern.search("x" * (LONGEST_SUBJECT + 1) + "\n")


def test_subjects_of_commits_are_short():
    """From `FIRST_RULED` on; what was before stays as it is."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git history here")
    command = [git, "-C", str(ROOT), "log", "--format=%h %s", f"{FIRST_RULED}..HEAD"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip(f"the git history does not reach back to {FIRST_RULED}: {listed.stderr.strip()}")
    subjects = [line.split(" ", 1) for line in listed.stdout.splitlines()]
    too_long = [f"{commit} {subject}" for commit, subject in subjects if len(subject) > LONGEST_SUBJECT]
    assert too_long == []


def test_a_night_begins_every_folder_of_results_anew():
    """Results of other code are refused, so a folder that is left from the night before would end the night."""
    targets = {target.partition(":")[0].strip(): target for target in re.split(r"\n(?=[a-z-]+:)", MAKEFILE)}
    night = targets["nightly"]
    (made,) = re.findall(r"\$\(MAKE\) (.+)", night)
    kept = {
        name
        for one in made.split()
        for name in re.findall(r"(?:--into build/|\$\(call kept,)([a-z-]+)", targets[one])
        if f"rm -rf build/{name}\n" not in targets[one]
    }
    assert {f"build/{name}" for name in kept} == {word for word in night.split() if word.startswith("build/")}


def test_the_campaign_of_all_known_bugs_is_long_enough():
    first_hits = (ROOT / "tests" / "corpus" / "first_hits.toml").read_text(encoding="utf-8")
    (scenarios,) = re.findall(r"build/campaign-bugs --scenarios (\d+)", MAKEFILE)
    assert int(scenarios) > max(map(int, re.findall(r'= "0/[a-z-]+/(\d+)"', first_hits)))
