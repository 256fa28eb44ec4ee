"""The list of known failures is strict: what is on it must fail as recorded, and what fails must be on it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.bridges.jsonl.unstepped import Unstepped
from conformance.components.pipeline.config import make
from conformance.components.subpartition import SubpartitionScenarioConfig
from conformance.engines import load_known_failures, standing
from conformance.engines.known_failures import MOST_RUNS
from conformance.ports import Capability, find_implementation
from conformance.ports.implementation import Factory
from conformance.scenarios import Finding, Scenario, SchemaError, encode_scenario
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference

REPLACED = Scenario(
    "subpartition", SubpartitionScenarioConfig(), (("timeoutable_barrier", 1), ("timeoutable_barrier", 2))
)
ENTRY = """
[[failure]]
property = "a-newer-timeoutable-barrier-fails-the-older-channel-state-future"
component = "subpartition"
class = "orphaned"
ticket = "OURS-1"
reason = "not mended yet"
scenario = "replaced.json"
"""


CANCELLED = """
[[failure]]
component = "pipeline"
property = "a-cancelled-job-is-over"
class = "stuck"
ticket = "none"
reason = "it was restored"
scenario = "cancelled.json"
"""


def listed(folder: Path, text: str = ENTRY) -> Path:
    (folder / "replaced.json").write_text(encode_scenario(REPLACED))
    (folder / "known.toml").write_text(text)
    return folder / "known.toml"


def check(implementation: str, known: Path) -> int:
    small = ["--component", "subpartition", "--scenarios", "150"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", *small, "--implementation", implementation, "--known-failures", str(known)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_failure_as_recorded_is_no_news(tmp_path, capsys):
    assert check("known-bug:B-88", listed(tmp_path)) == 0
    said = capsys.readouterr().out
    assert "known-bug:B-88: 1 known failure still fails as it is recorded:\n" in said
    assert "(subpartition): OURS-1, not mended yet\n" in said
    assert "known-bug:B-88: conforms but for 1 known failure." in said


def test_an_entry_that_stopped_failing_is_news(tmp_path, capsys):
    assert check("reference", listed(tmp_path)) == 1
    assert "no longer fails as OURS-1 recorded it: remove it" in capsys.readouterr().out


class ReadsNothingBack(Reference):
    """It does not claim what the property of the entry needs."""

    def __init__(self) -> None:
        super().__init__("reads nothing back", PUSHED)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - {Capability.PERSISTED_READBACK}


def test_an_entry_that_cannot_be_about_an_implementation_is_not_taken_off_the_list(tmp_path, capsys):
    name = f"{__name__}:ReadsNothingBack"
    known = listed(tmp_path)
    assert check(name, known) == 0
    assert "does not apply to it" in " ".join(capsys.readouterr().out.split())
    assert check(name, listed(tmp_path, f'{ENTRY}implementation = "{name}"\n')) == 1


def test_another_failure_is_news(tmp_path, capsys):
    assert check("known-bug:B-S9", listed(tmp_path)) == 1
    assert "FAILED subpartition sequence-numbers-have-no-gaps known-bug:B-S9" in capsys.readouterr().out


def test_an_entry_for_another_implementation_or_class_does_not_excuse(tmp_path):
    known = listed(tmp_path, ENTRY + 'implementation = "another"\n')
    assert check("known-bug:B-88", known) == 1
    known = listed(tmp_path, ENTRY.replace('"orphaned"', '"lost"'))
    assert check("known-bug:B-88", known) == 1


def test_only_what_concerns_the_components_at_hand_is_replayed(tmp_path):
    entries = load_known_failures(listed(tmp_path))
    now = standing(entries, "reference", find_implementation("reference"), ["deque"])
    assert (now.known, now.fixed) == ({}, ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[failure]]", "[[failure"), "this is not TOML"),
        (('ticket = "OURS-1"\n', ""), "missing required field `ticket`"),
        (('"orphaned"', '"unlucky"'), "Invalid enum value 'unlucky'"),
        (("reason", "because"), "unknown field `because`"),
        (
            ("[[failure]]", "[[known]]"),
            "each entry begins with [[failure]]; its fields are property, component, class, ",
        ),
        (("a-newer-timeoutable-barrier", "a-newer-barrier"), "failure 1: there is no property"),
        (("replaced.json", "nowhere.json"), "nowhere.json cannot be read"),
    ],
)
def test_a_wrong_list_is_reported_in_words(change, said, tmp_path):
    with pytest.raises(SchemaError) as caught:
        load_known_failures(listed(tmp_path, ENTRY.replace(*change)))
    assert "known.toml" in str(caught.value)
    assert said in str(caught.value)


def test_the_entry_in_the_documents_can_be_read(tmp_path):
    root = Path(__file__).parents[2]
    (entry,) = re.findall(r"```toml\n(.*?)```", (root / "docs" / "pytest.md").read_text(encoding="utf-8"), re.DOTALL)
    scenario = tmp_path / tomllib.loads(entry)["failure"][0]["scenario"]
    scenario.parent.mkdir()
    scenario.write_bytes((root / "tests" / "corpus" / "B-D3.json").read_bytes())
    (known,) = load_known_failures(listed(tmp_path, entry))
    assert known.concerns("my_adapter:MyEngine", "deque")
    assert known.signatures(find_implementation("known-bug:B-D3"))


def test_a_scenario_of_another_component_is_reported(tmp_path):
    answers = 'property = "operations-return-what-the-interface-says"'
    text = ENTRY.replace('"subpartition"', '"gate"').replace(ENTRY.splitlines()[2], answers)
    with pytest.raises(SchemaError, match=r"'replaced\.json' is a scenario of 'subpartition', and .* about 'gate'"):
        load_known_failures(listed(tmp_path, text))


def _up(folder: Path) -> str:
    (folder.parent / "outside.json").write_text(encode_scenario(REPLACED))
    return "../outside.json"


def _down_and_up(folder: Path) -> str:
    (folder / "below").mkdir()
    return f"below/../{_up(folder)}"


def _anywhere(folder: Path) -> str:
    _up(folder)
    return str(folder.parent / "outside.json")


def _link(folder: Path) -> str:
    (folder / "link.json").symlink_to(_anywhere(folder))
    return "link.json"


def _in_a_linked_folder(folder: Path) -> str:
    _up(folder)
    (folder / "linked").symlink_to(folder.parent)
    return "linked/outside.json"


@pytest.mark.parametrize("led", [_up, _down_and_up, _anywhere, _link, _in_a_linked_folder])
def test_the_scenario_of_an_entry_stays_in_the_folder_of_the_list(led, tmp_path):
    home = tmp_path / "list"
    home.mkdir()
    with pytest.raises(SchemaError, match=r"known\.toml, failure 1, field scenario: .* out of the folder of the list"):
        load_known_failures(listed(home, ENTRY.replace("replaced.json", led(home))))


def test_a_name_that_no_file_can_have_is_reported(tmp_path):
    with pytest.raises(SchemaError, match="failure 1, field scenario"):
        load_known_failures(listed(tmp_path, ENTRY.replace("replaced.json", "a\\u0000b")))


def test_links_within_the_folder_are_followed(tmp_path):
    listed(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "replaced.json").rename(tmp_path / "data" / "real.json")
    (tmp_path / "replaced.json").symlink_to("data/real.json")
    assert load_known_failures(tmp_path / "known.toml")[0].scenario == REPLACED


class Seldom(Unstepped):
    """A job whose threads work on their own: each third one does not know after a failover that it was cancelled."""

    def __init__(self, has_bug: bool = True) -> None:
        super().__init__(find_implementation("reference"))
        self._bug = Unstepped(find_implementation("known-bug:B-J57" if has_bug else "reference"))
        self.jobs = 0

    def components(self) -> Mapping[str, Factory]:
        right, wrong = super().components()["pipeline"], self._bug.components()["pipeline"]

        def make_job(config: Any) -> Any:
            self.jobs += 1
            return (right if self.jobs % 3 else wrong)(config)

        return {"pipeline": make_job}


def test_what_need_not_fail_each_time_fails_in_one_of_a_few_runs(tmp_path):
    steps = (("settle", "running"), ("cancel",), ("fail", "master", 0, "now"))
    found = Finding("a-cancelled-job-is-over", "stuck", "somebody")
    scenario = Scenario("pipeline", make("one edge", 1), steps, found)
    (tmp_path / "cancelled.json").write_text(encode_scenario(scenario))
    listed(tmp_path, CANCELLED)
    entries = load_known_failures(tmp_path / "known.toml")
    for engine, runs in ((Seldom(), 3), (Seldom(has_bug=False), MOST_RUNS)):
        now = standing(entries, "seldom", engine, ["pipeline"])
        assert engine.jobs == runs
        assert bool(now.failing) is not bool(now.fixed)
        assert bool(now.failing) is (runs == 3)
