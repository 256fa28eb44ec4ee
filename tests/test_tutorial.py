"""The tutorial does what it says, as written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
FIRST, *METHODS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
REJECTIONS = re.findall(r"^FAILED (\S+)$", TEXT, re.MULTILINE)


def with_methods(source: str, methods: list[str]) -> str:
    """The module with these methods in place of those of the same name."""
    for method in methods:
        found = re.match(r"    def (\w+)\(", method)
        assert found is not None
        pattern = re.compile(rf"    def {found[1]}\(.*?(?=\n    def |\n\n\nclass )", re.DOTALL)
        before, after = source[: (place := pattern.search(source)).start()], source[place.end() :]  # type: ignore[union-attr]
        source = f"{before}{method.rstrip()}\n{after}"
    return source


def check(folder: Path, methods: int) -> dict[str, Any]:
    """What is found while so many methods are mended: the steps of the shortest scenario by property."""
    (folder / "toy_engine.py").write_text(with_methods(FIRST, METHODS[:methods]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from conformance.cli import main; main()", "check", "--component", "subpartition",
         "--implementation", "toy_engine:Toy", "--json", "result.json"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (0 if methods == len(METHODS) else 1), done.stderr
    (one,) = json.loads((folder / "result.json").read_text())["implementations"]
    found: dict[str, Any] = {}
    for finding in sorted(one["findings"], key=lambda finding: -len(finding["scenario"]["steps"])):
        found[finding["property"]] = finding["scenario"]["steps"]
    return found


def test_there_are_three_rejections_and_a_method_for_each():
    assert len(REJECTIONS) == len(METHODS) == 3


def test_the_suite_rejects_it_three_times_for_the_reasons_given(tmp_path):
    first, second, third, last = (check(tmp_path, mended) for mended in range(4))
    assert first[REJECTIONS[0]] == [["attach_view"], ["unaligned_barrier", 1]]
    assert second[REJECTIONS[1]] == []
    assert third[REJECTIONS[2]] == [["timeoutable_barrier", 1], ["finish"], ["aligned_timeout", 1]]
    assert len(first) > len(second) > len(third)
    assert not last
