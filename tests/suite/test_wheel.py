"""The wheel is complete: its suite runs in a fresh environment without pyspark, from another repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ADAPTER = """\
from conformance.ports import find_implementation




def adapter():
    made = find_implementation("reference")
    made.name = "mine"
    return made
"""


def run(*arguments: str | Path, cwd: Path, code: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    environment["CONFORMANCE_CACHE"] = str(cwd / "cache")  # without what this machine has fetched of Flink
    done = subprocess.run([*map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The bin folder of an environment in which the wheel is installed without extras."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "dist", ROOT, cwd=folder)
    (wheel,) = (folder / "dist").glob("checkpoint_conformance-*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    run(folder / "venv" / "bin" / "pip", "install", "--quiet", wheel, cwd=folder)
    return folder / "venv" / "bin"


@pytest.fixture(scope="module")
def installed(plain):
    """The same environment, later: the wheel is installed with the extra `pytest`."""
    (wheel,) = plain.parents[1].glob("dist/*.whl")
    run(plain / "pip", "install", "--quiet", f"{wheel}[pytest]", cwd=plain)
    return plain


@pytest.mark.slow  # it installs everything anew
def test_the_command_runs_without_extras_and_what_needs_one_names_it(plain, tmp_path):
    """The first test of this file: the next one installs the extra."""
    run(plain / "python", "-c", "import pytest", cwd=tmp_path, code=1)
    told = run(plain / "conformance", "check", "--component", "deque", "--scenarios", "50", cwd=tmp_path)
    assert "reference: conforms." in told
    missing = run(plain / "python", "-m", "conformance.suite", cwd=tmp_path, code=1)
    assert "pip install 'checkpoint-conformance[pytest]'" in missing
    no_spark = run(plain / "conformance", "campaign", "start", "c", "--runner", "spark", cwd=tmp_path, code=2)
    assert "pip install 'checkpoint-conformance[spark]'" in no_spark
    no_flink = run(plain / "conformance", "check", "--implementation", "flink-component", cwd=tmp_path, code=2)
    assert "pip install 'checkpoint-conformance[flink]'" in no_flink
    page = run(plain / "conformance", "docs", "tutorial", cwd=tmp_path)
    assert page.startswith("# Tutorial")


@pytest.mark.slow  # it needs a wheel that is installed
def test_the_suite_runs_from_another_repository(installed, tmp_path):
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "strategies.py").write_text("THEIRS = True\n")
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").write_text("THEIRS = True\n")
    (tmp_path / "test_theirs.py").write_text(
        "import strategies\n\n\ndef test_theirs():\n    assert strategies.THEIRS\n"
    )
    elsewhere = tmp_path / "adapters"
    elsewhere.mkdir()
    (elsewhere / "my.py").write_text(ADAPTER)
    options = ("--pyargs", "conformance.suite", "--implementation", "my:adapter", "-n", "2", "--component", "gate",
               "--component", "deque", "-p", "no:cacheprovider")  # fmt: skip
    in_the_way = run(installed / "pytest", *options, cwd=tmp_path, code=4)
    assert "--import-mode=importlib" in in_the_way
    told = run(installed / "pytest", "--import-mode=importlib", "-o", f"pythonpath={elsewhere}", *options, cwd=tmp_path)
    assert "my:adapter: conforms." in told
    assert "1 passed" in run(installed / "python", "-m", "pytest", "-q", cwd=tmp_path)
    missing = run(installed / "python", "-c", "import pyspark", cwd=tmp_path, code=1)
    assert "No module named 'pyspark'" in missing


@pytest.mark.slow  # it needs a wheel that is installed
def test_a_property_that_fails_is_told_and_written(installed, tmp_path):
    options = ("--component", "deque", "--conformance-profile", "quick", "--conformance-ctrf", "ctrf.json")
    told = run(installed / "pytest", "--pyargs", "conformance.suite", "--implementation", "known-bug:B-D3", *options,
               cwd=tmp_path, code=1)  # fmt: skip
    assert "known-bug:B-D3: FAILED." in told
    assert (tmp_path / "conformance-reports" / "index.html").is_file()
    assert '"failed"' in (tmp_path / "ctrf.json").read_text()


@pytest.mark.slow  # it needs a wheel that is installed
def test_the_wheel_holds_all_that_is_needed(installed, tmp_path):
    told = run(installed / "conformance", "check", "--scenarios", "200", cwd=tmp_path)
    assert "reference: conforms." in told
    count = (
        "from conformance.components import COMPONENTS; from conformance.engines.corpus import corpus; "
        "print(len(corpus(COMPONENTS['gate'])))"
    )
    assert int(run(installed / "python", "-c", count, cwd=tmp_path)) > 30
