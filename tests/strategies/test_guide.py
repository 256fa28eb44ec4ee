"""docs/strategies.md is true: its test fails with the example that it shows, and passes with the repaired reader."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import strategies
from conformance.components import COMPONENTS
from tests.pages import ROOT, Block, blocks

GUIDE = ROOT / "docs" / "strategies.md"
WRONG, TEST, SHOWN, PASTED, RIGHT, _ = blocks(GUIDE)


def run(folder: Path, reader: Block, test: str = TEST.text, seed: int = 1) -> subprocess.CompletedProcess[str]:
    (folder / "my_reader.py").write_text(reader.text)
    (folder / "test_my_reader.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    return subprocess.run([*command, "test_my_reader.py"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow(reason="another seed of Hypothesis")) for seed in (2, 3))]
)
def test_the_test_fails_with_the_example_that_is_shown(tmp_path, seed):
    done = run(tmp_path, WRONG, seed=seed)
    assert done.returncode == 1, done.stdout
    printed = [line.removeprefix("E").strip() for line in done.stdout.splitlines()]
    assert SHOWN.text.strip() in printed


@pytest.mark.slow  # a run of pytest; the failure is shown by default
def test_the_repaired_reader_passes(tmp_path):
    done = run(tmp_path, RIGHT)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow  # two runs of pytest; the failure is shown by default
def test_the_example_that_is_shown_can_be_pasted(tmp_path):
    line = PASTED.text
    assert line.removeprefix("@example(").removesuffix(")\n") in SHOWN.text
    pasted = TEST.text.replace("@given", f"{line}@given", 1).replace("import given", "import example, given")
    pasted = pasted.replace("import encode, size_of", "import Record, encode, size_of")
    assert run(tmp_path, WRONG, pasted).returncode == 1
    assert run(tmp_path, RIGHT, pasted).returncode == 0


def test_the_table_has_every_strategy_with_its_arguments():
    rows = re.findall(r"(?m)^\| (`.*?) \|", GUIDE.read_text())
    told = {name: text for row in rows for name, text in re.findall(r"`(\w+)\((.*?)\)`", row)}
    others = {"Texts", "RescalePlan", "described", "recovered_gate"}
    assert told.keys() == {*strategies.__all__} - others
    for name, text in told.items():
        parameters = inspect.signature(getattr(strategies, name)).parameters
        for argument in filter(None, text.split(", ")):
            assert argument.partition("=")[0] in parameters, f"{name}({argument})"


def test_the_table_names_the_components_without_faults():
    (row,) = re.findall(r"(?m)^\| `faults\(component\)` \|(.*)", GUIDE.read_text())
    for component in COMPONENTS:
        if f"`{component}`" in row:
            with pytest.raises(ValueError, match="can fail"):
                strategies.faults(component)
        else:
            strategies.faults(component)


@pytest.mark.parametrize("name", ["Texts", "described", "recovered_gate"])
def test_the_guide_names_the_others(name):
    assert f"`{name}" in GUIDE.read_text()
