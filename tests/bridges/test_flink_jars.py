"""A jar that is not the one that its name says, or is damaged, is no finding in Flink."""

from __future__ import annotations

import re
import textwrap
import zipfile

import pytest

from conformance.bridges.flink import RELEASES, FlinkComponent, shim
from conformance.bridges.flink.releases import HOME_VARIABLE, find_jars
from conformance.ports import (
    Alignment,
    Barrier,
    DequeConfig,
    Recovery,
    SubpartitionConfig,
    TaskRestoreConfig,
    UnusableImplementation,
)
from tests.bridges.conftest import skip_without

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

NEWEST = RELEASES[0]
DEQUE = "org/apache/flink/runtime/io/network/partition/PrioritizedDeque.class"
EVENTS = "org/apache/flink/runtime/io/network/api/serialization/EventSerializer.class"
DAMAGED = b"no class file" * 8
TASK = "org/apache/flink/streaming/runtime/tasks/StreamTask.class"


@pytest.fixture
def flink_with(tmp_path, monkeypatch):
    """Makes the newest release with a file of its jar replaced: the new jar has only that, and names the real one."""
    skip_without(NEWEST)
    dist, *others = find_jars(NEWEST)
    classes = shim.compiled(NEWEST)
    made = FlinkComponent(NEWEST)

    def make(name: str, content: bytes) -> FlinkComponent:
        home = tmp_path / NEWEST
        home.mkdir()
        with zipfile.ZipFile(home / dist.name, "w") as archive:
            behind = textwrap.wrap(f"Class-Path: {dist.as_uri()}", 70, break_on_hyphens=False)
            archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n" + "\n ".join(behind) + "\n")
            archive.writestr(name, content)
        for other in others:
            (home / other.name).symlink_to(other)
        monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
        monkeypatch.setattr(shim, "compiled", lambda version, sources: classes)
        return made

    yield make
    made.close()


@pytest.mark.parametrize(
    ("name", "use"),
    [
        (DEQUE, lambda make: make["deque"](DequeConfig())),
        (EVENTS, lambda make: make["subpartition"](SubpartitionConfig()).add(Barrier(1, Alignment.ALIGNED))),
        (TASK, lambda make: make["task-restore"](TaskRestoreConfig((1,), ((),), (), Recovery.RECOVER_FIRST)).restore()),
    ],
    ids=["open", "call", "task"],
)
def test_a_class_that_cannot_be_loaded_is_no_outcome_of_flink(flink_with, tmp_path, name, use):
    flink = flink_with(name, DAMAGED)
    with pytest.raises(UnusableImplementation) as refused:
        use(flink.components())
    assert re.search(f"{name.rpartition('.')[0]}, needed by (conformance|org.apache.flink)", str(refused.value))
    assert str(tmp_path / NEWEST / f"flink-dist-{NEWEST}.jar") in str(refused.value)


def test_nor_is_it_in_a_scenario_in_one_message(flink_with):
    flink = flink_with(DEQUE, DAMAGED)
    with pytest.raises(UnusableImplementation, match="PrioritizedDeque"):
        flink.batch("deque", DequeConfig(), [("new",), ("poll",)])


def test_a_jar_of_another_release_is_refused(flink_with, tmp_path):
    flink = flink_with(".flink-runtime.version.properties", b"project.version=2.2.1\n")
    jar = tmp_path / NEWEST / f"flink-dist-{NEWEST}.jar"
    with pytest.raises(UnusableImplementation, match=f"^Flink {NEWEST} was asked for, but {jar} is Flink 2.2.1."):
        flink.components()
