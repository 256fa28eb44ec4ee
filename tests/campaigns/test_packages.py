"""What executors get is a zip. All that is read at run time is read through the loader, so it is found there too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.campaigns.spark_packages import pack
from conformance.components import COMPONENTS
from conformance.engines.corpus import corpus_files

SCRIPT = """
import sys
sys.path[:0] = [sys.argv[1]]
import conformance
from conformance.components import COMPONENTS
from conformance.bridges.flink.releases import SOURCE_SETS
from conformance.bridges.flink.shim import read_sources
from conformance.driver import Program
from conformance.engines.check import check
from conformance.engines.corpus import corpus, corpus_files
from conformance.ports import find_implementation
assert conformance.__file__.startswith(sys.argv[1]), conformance.__file__
java = {one for sources in SOURCE_SETS for version in sources.releases for one in read_sources(version, sources)}
print(sum(1 for _ in corpus_files()), sum(len(corpus(one)) for one in COMPONENTS.values()), len(java))
for name in ("known-bug:B-01", "legal-variant:V-R2"):
    implementation = find_implementation(name)
    component = sorted(implementation.components())[-1]
    print(name, check(Program(COMPONENTS["subpartition"], implementation), 30, "zip", budget=50).clean)
"""


@pytest.mark.slow  # a process that reads the whole corpus from the zip, and searches
def test_all_that_a_search_needs_is_in_the_zip(tmp_path):
    path = pack(tmp_path / "packages.zip")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files = len(list(corpus_files()))
    flink = Path(sys.modules["conformance"].__path__[0]) / "bridges" / "flink"
    sources = len([path for folder in flink.glob("java*") for path in folder.rglob("*") if path.is_file()])
    scenarios, *verdicts = done.stdout.splitlines()
    assert scenarios == f"{files} {files} {sources}"
    assert verdicts == ["known-bug:B-01 False", "legal-variant:V-R2 True"]
    assert len(COMPONENTS) > 1
