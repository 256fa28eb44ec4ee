"""`check`, pytest and campaigns count alike: what they print of the same scenarios is the same, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import cli
from tests.suite.test_plugin import SUITE, run, summary_of

COUNTED = ("FAILED ", "not-exercised ", "unknown ", "counts ")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    with pytest.raises(SystemExit):
        cli.main(list(arguments))
    return counted(capsys.readouterr().out)


def counted(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.startswith(COUNTED)]
    summaries = [line.partition(". ")[2] for line in text.splitlines() if " properties: " in line and line[0] != "c"]
    return lines + summaries


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("known-bug:B-D5", "deque"),
        pytest.param("known-bug:B-01", "subpartition", marks=pytest.mark.slow(reason="says the same of larger counts")),
        pytest.param("reference-recover-first", "subpartition", marks=pytest.mark.slow(reason="another design")),
    ],
)
def test_the_same_scenarios_have_the_same_counts(name, component, tmp_path: Path, capsys):
    which = ("--implementation", name, "--component", component)
    checked = printed(capsys, "check", *which, "--scenarios", "300", "--bug-reports", str(tmp_path / "reports"))
    campaign = ("campaign", "start", str(tmp_path / "campaign"), *which, "--scenarios", "300", "--runner", "inline")
    assert printed(capsys, *campaign) == checked
    done = run(tmp_path, *SUITE, *which, "--conformance-profile", "quick")
    assert counted(summary_of(done.stdout)) == checked
    assert any(line.startswith(f"counts {component} {name} ") for line in checked)
    assert any(line.startswith("FAILED ") for line in checked) is name.startswith("known-bug:")
    assert len(checked[-1].split(" properties: ")) == 2
