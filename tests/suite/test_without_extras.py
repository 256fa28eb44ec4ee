"""The core needs none of the extras, and what needs one says which. A nightly test installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.bridges.flink import releases
from conformance.ports import UnusableImplementation

ROOT = Path(__file__).parents[2]
BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    def invalidate_caches(self):
        pass

sys.meta_path.insert(0, Missing())
"""


HIDE = """
import importlib.util as u; old = u.find_spec
u.find_spec = lambda name, *rest: None if name == {name!r} else old(name, *rest)
"""


def run_without(missing: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    script = f"{BLOCKED.format(missing=missing)}\n{code}"
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_needs_no_extra():
    done = run_without(
        ("pytest", "_pytest", "pluggy", "xdist", "pyspark", "py4j", "pyflink", "jsonschema"),
        "from conformance.cli import main; main(['check', '--component', 'deque', '--scenarios', '20'])",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conforms" in done.stdout


def test_the_tests_of_the_suite_say_that_they_need_pytest():
    done = run_without((), f"{HIDE.format(name='pytest')}import conformance.suite")
    assert done.returncode == 1
    assert "pip install 'checkpoint-conformance[pytest]'" in done.stderr


@pytest.mark.parametrize("option", ["-n2", "--numprocesses=2", "--dist=load"])
def test_the_plugin_says_that_several_processes_need_xdist(option):
    run = f"import pytest; sys.exit(pytest.main(['-p', 'no:xdist', '--pyargs', 'conformance.suite', {option!r}]))"
    done = run_without((), HIDE.format(name="xdist") + run)
    assert done.returncode == 4
    assert "pip install 'checkpoint-conformance[pytest]'" in done.stderr


def test_the_plugin_leaves_other_runs_to_pytest():
    run = "import pytest; sys.exit(pytest.main(['-p', 'no:xdist', '-n2', 'tests/suite']))"
    done = run_without((), HIDE.format(name="xdist") + run)
    assert done.returncode == 4
    assert "unrecognized arguments" in done.stderr
    assert "checkpoint-conformance[pytest]" not in done.stderr


@pytest.mark.parametrize(("version", "named"), [("2.3.0", True), ("2.2.1", False)])
def test_flink_names_its_extra_for_the_release_that_the_extra_installs(monkeypatch, tmp_path, version, named):
    monkeypatch.setenv(releases.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv(releases.HOME_VARIABLE, raising=False)
    monkeypatch.setattr(releases, "_installed", lambda _: None)
    with pytest.raises(UnusableImplementation) as missing:
        releases.find_jars(version)
    assert ("pip install 'checkpoint-conformance[flink]'" in str(missing.value)) == named
    assert f'"apache-flink-libraries=={releases.EXTRA_RELEASE}"' in (ROOT / "pyproject.toml").read_text()
