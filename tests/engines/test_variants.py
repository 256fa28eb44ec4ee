"""Legal variants: none is accused, each differs from its original, and a bug among them is noticed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from conformance.campaigns.checks import try_variants
from conformance.cli import cli
from conformance.engines.variants import try_variant
from conformance.engines.works import in_processes
from conformance.ports import find_legal_variant, read_legal_variants
from tests.ports import foreign_variants

HERE = "tests.ports.foreign_variants"


def test_a_legal_variant_is_not_accused_and_differs_somewhere():
    trial = try_variant("X-V1", foreign_variants.COUNTS_THE_END, "0", 200)
    assert not trial.accused
    assert trial.scenarios == 200
    assert trial.difference is not None
    assert trial.difference.group.operation == "in_use"
    assert len(trial.difference.scenario.steps) <= 2


def test_a_bug_that_is_called_legal_is_accused():
    trial = try_variant("X-V2", foreign_variants.TAKES_THE_LAST, "0", 200)
    assert trial.accused
    assert trial.found[0].scenario.steps


def test_a_variant_that_never_differs_tests_nothing():
    trial = try_variant("X-V3", foreign_variants.DIFFERS_NOWHERE, "0", 50)
    assert (trial.accused, trial.difference) == (False, None)


def test_the_result_is_the_same_with_several_processes():
    names = [f"{HERE}:COUNTS_THE_END", f"{HERE}:TAKES_THE_LAST"]
    with in_processes(2) as over:
        tried = try_variants(names, "0", 50, over)
    assert tried == [try_variant(name, find_legal_variant(name), "0", 50) for name in names]


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [("COUNTS_THE_END", 0, "0 of 1 accused"), ("TAKES_THE_LAST", 1, "ACCUSED"), ("DIFFERS_NOWHERE", 3, "NOWHERE")],
)
def test_the_command_says_so_in_its_exit_status_too(tmp_path, capfd, name, status, says):
    file, page, corpus = tmp_path / "variants.json", tmp_path / "variants.md", tmp_path / "corpus"
    done = CliRunner().invoke(
        cli,
        ["variants", f"{HERE}:{name}", "--scenarios", "50", "--json", file, "--report", page, "--corpus", corpus],
        standalone_mode=False,
    )
    assert done.return_value == status
    assert says in capfd.readouterr().out  # of the child that loads the module
    (row,) = json.loads(file.read_text())["variants"]
    assert {"id", "component", "reason", "accused", "property", "scenarios"} <= set(row)
    assert row["accused"] == (status == 1)
    assert "# Legal variants" in page.read_text()
    assert len(list(corpus.iterdir())) == (status == 0)


def test_names_that_are_no_legal_variants_are_refused(capfd):
    done = CliRunner().invoke(cli, ["variants", "V-none"], standalone_mode=False)
    assert "There is no legal variant 'V-none'" in str(done.exception)
    done = CliRunner().invoke(cli, ["variants", "tests.ports.foreign_bugs:AS_A_CLASS"], standalone_mode=False)
    assert done.return_value == 2
    assert "is a KnownBug, not a LegalVariant" in capfd.readouterr().err
    assert find_legal_variant(f"{HERE}:COUNTS_THE_END") is foreign_variants.COUNTS_THE_END


def test_a_damaged_catalogue_says_where(tmp_path):
    file = tmp_path / "variants.toml"
    file.write_text('component = "deque"\n[[variant]]\nid = "X"\n')
    with pytest.raises(ValueError, match=r"variants.toml: .*`freedom`"):
        read_legal_variants(file, "reference_impl", lambda package, name: package.Reference(name, package.PUSHED))
