"""Finding jars and a JDK. Needs neither: what is missing must be reported before anything runs."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from conformance.bridges.flink import (
    RELEASES,
    FlinkComponent,
    FlinkCoordinator,
    FlinkRescaling,
    flink_component,
    flink_coordinator,
    releases,
    shim,
)
from conformance.bridges.flink.__main__ import main
from conformance.bridges.flink.jvm import Jvm
from conformance.bridges.jsonl.protocol import Greeting
from conformance.components import COMPONENTS
from conformance.engines import load_known_failures
from conformance.ports import Capability, UnusableImplementation, find_implementation
from conformance.ports.signatures import operations

NEWEST = RELEASES[0]
ADAPTERS = Path(releases.__file__).parent


def test_the_page_says_which_releases_can_be_tested():
    page = (Path(__file__).parents[2] / "docs" / "flink.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(flink-[a-z]+)` \| .* \| (.*) \|$", page, re.MULTILINE))
    (rescaling_only,) = set(releases.RESCALING.releases) - set(RELEASES)
    assert rows == {
        "flink-component": f"{', '.join(RELEASES)}; {rescaling_only}: `assignment`, `filter`",
        "flink-coordinator": ", ".join(releases.COORDINATORS.releases),
        "flink-pipeline": ", ".join(releases.PIPELINES.releases),
    }
    assert f"Without a\nversion, an implementation is that of {NEWEST}." in page


@pytest.fixture
def nothing_here(tmp_path, monkeypatch):
    """No jars at all, and an empty cache."""
    monkeypatch.setattr(releases, "_installed", lambda version: None)
    monkeypatch.delenv(releases.HOME_VARIABLE, raising=False)
    monkeypatch.setenv(releases.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


@pytest.fixture
def jdk_probe():
    shim.find_jdk.cache_clear()
    yield
    shim.find_jdk.cache_clear()


def put_jars(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    for name in (f"flink-dist-{version}.jar", "log4j-api-2.jar", "flink-csv.jar"):
        (folder / name).write_bytes(b"jar")
    return folder


def wheel(folder: Path, version: str, *names: str) -> None:
    """A wheel as the real one is, with next to nothing in it."""
    info = f"apache_flink_libraries-{version}.dist-info"
    members = dict.fromkeys(names, b"jar") | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: apache-flink-libraries\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in members.items()
    )
    with zipfile.ZipFile(folder / f"apache_flink_libraries-{version}-py3-none-any.whl", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


def test_an_unknown_release_is_refused_with_the_known_ones():
    with pytest.raises(UnusableImplementation, match=r"Flink '1\.19' .* knows 2\.3\.0, 2\.2\.1 and 1\.20\.5"):
        find_implementation("flink-component@1.19")


def test_a_release_is_refused_for_what_it_was_not_tried_with():
    told = (
        "The components of Flink 1.20.5 cannot be tested, only its changes of parallelism, coordinators, jobs and "
        "whole jobs. "
    )
    for use in (lambda: FlinkComponent("1.20.5"), lambda: shim.command("1.20.5")):
        with pytest.raises(UnusableImplementation, match=f"{told}The components of 2.3.0 and 2.2.1 can be."):
            use()


def test_of_an_older_release_what_belongs_to_a_change_of_parallelism_can_be_tested():
    made = find_implementation("flink-component@1.20.5")
    assert isinstance(made, FlinkRescaling)
    assert made.release == "1.20.5"


def test_every_set_of_sources_is_there_and_fits_known_releases():
    for sources in releases.SOURCE_SETS:
        for version in sources.releases:
            assert [place for place, _ in shim.read_sources(version, sources) if place.suffix == ".java"]
        assert set(sources.releases) <= set(releases.KNOWN_RELEASES)
        assert set(sources.fitted) <= set(releases.KNOWN_RELEASES)
        assert sources.releases == tuple(version for version in releases.KNOWN_RELEASES if version in sources.releases)


def test_coordinators_of_older_releases_can_be_tested():
    for made, release in ((flink_coordinator(), NEWEST), (find_implementation("flink-coordinator@1.20.5"), "1.20.5")):
        assert isinstance(made, FlinkCoordinator)
        assert made.release == release
        assert made.batch is None
    with pytest.raises(UnusableImplementation, match="cannot be tested"):
        find_implementation("flink-coordinator@1.16.3")


def test_the_coordinators_of_all_releases_are_known_to_fail_alike():
    """They have the same code, so an entry that one list lacks was forgotten."""
    folder = Path(releases.__file__).parent / "known_failures"
    known = [
        [
            (one.property, one.failure_class, one.ticket, one.reason, one.scenario)
            for one in load_known_failures(folder / f"{release}.toml")
            if one.concerns(f"flink-coordinator@{release}", "coordinator")
        ]
        for release in releases.COORDINATORS.releases
    ]
    assert known[0]
    assert known == [known[0]] * len(known)


def test_the_newest_release_is_the_default():
    for made, release in ((flink_component(), NEWEST), (flink_component("2.2.1"), "2.2.1")):
        assert isinstance(made, FlinkComponent)
        assert made.release == release


def test_missing_jars_are_reported_with_the_command_that_fetches_them(nothing_here):
    with pytest.raises(UnusableImplementation, match=rf"`python -m conformance\.bridges\.flink fetch {NEWEST}`"):
        flink_component().components()


def test_jars_are_found_in_the_folder_that_is_named_for_them(nothing_here, monkeypatch):
    folder = put_jars(nothing_here / "home" / NEWEST, NEWEST)
    monkeypatch.setenv(releases.HOME_VARIABLE, str(folder.parent))
    assert [jar.name for jar in releases.find_jars(NEWEST)] == [f"flink-dist-{NEWEST}.jar", "log4j-api-2.jar"]
    with pytest.raises(UnusableImplementation, match=str(folder.parent / "2.2.1")):
        releases.find_jars("2.2.1")


@pytest.mark.parametrize("slip", ["no such folder", "the folder of the release", "another name of the jar"])
def test_a_build_of_ones_own_that_is_not_found_is_not_replaced_by_the_released_one(nothing_here, monkeypatch, slip):
    put_jars(nothing_here / "cache" / "flink" / NEWEST, NEWEST)
    folder = put_jars(nothing_here / "home" / NEWEST, NEWEST)
    if slip == "another name of the jar":
        (folder / f"flink-dist-{NEWEST}.jar").rename(folder / "flink-dist-2.3-SNAPSHOT.jar")
    home = {"no such folder": nothing_here / "nowhere", "the folder of the release": folder}.get(slip, folder.parent)
    monkeypatch.setenv(releases.HOME_VARIABLE, str(home))
    for asked in (releases.find_jars, releases.fetch):
        with pytest.raises(UnusableImplementation, match=str(home / NEWEST / f"flink-dist-{NEWEST}.jar")):
            asked(NEWEST)


def test_a_release_of_which_there_is_no_build_of_ones_own_is_the_released_one(nothing_here, monkeypatch):
    released = put_jars(nothing_here / "cache" / "flink" / "2.2.1", "2.2.1")
    monkeypatch.setenv(releases.HOME_VARIABLE, str(put_jars(nothing_here / "home" / NEWEST, NEWEST).parent))
    assert releases.find_jars("2.2.1")[0].parent == released


def test_fetching_takes_what_is_needed_and_leaves_nothing_else(nothing_here, capsys):
    wanted = (f"pyflink/lib/flink-dist-{NEWEST}.jar", "pyflink/lib/log4j-core-2.jar")
    wheel(nothing_here, NEWEST, *wanted, "pyflink/lib/flink-csv.jar", "pyflink/opt/log4j-other.jar")
    assert main(["fetch", NEWEST]) == 0
    cache = nothing_here / "cache" / "flink"
    assert sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*.*") if path.is_file()) == [
        f"{NEWEST}/flink-dist-{NEWEST}.jar",
        f"{NEWEST}/log4j-core-2.jar",
    ]
    assert [path.name for path in cache.iterdir()] == [NEWEST]
    (nothing_here / f"apache_flink_libraries-{NEWEST}-py3-none-any.whl").unlink()
    assert main(["fetch", NEWEST]) == 0  # it is here already
    assert capsys.readouterr().out.count(f"Flink {NEWEST}: {cache / NEWEST}") == 2


def test_a_source_distribution_is_unpacked_too(tmp_path):
    jars = ("deps/lib/flink-dist-1.20.5.jar", "deps/lib/log4j-core-2.jar")
    others = ("deps/lib/flink-csv.jar", "deps/opt/log4j-other.jar", "log4j-at-the-top.jar")
    path = tmp_path / "apache_flink_libraries-1.20.5.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in (*jars, *others):
            member = tarfile.TarInfo(f"apache_flink_libraries-1.20.5/{name}")
            member.size = 3
            archive.addfile(member, io.BytesIO(b"jar"))
    releases._unpack(path, tmp_path / "jars")
    assert {one.name: one.read_bytes() for one in (tmp_path / "jars").iterdir()} == {
        "flink-dist-1.20.5.jar": b"jar", "log4j-core-2.jar": b"jar"
    }  # fmt: skip


@pytest.mark.parametrize("said", ["2.2.1", "2.30.0", "3.3.0", "2.2-SNAPSHOT"])
def test_a_jar_that_is_another_release_than_its_name_says_is_refused(nothing_here, monkeypatch, said):
    folder = put_jars(nothing_here / "home" / "2.3.0", "2.3.0")
    monkeypatch.setenv(releases.HOME_VARIABLE, str(folder.parent))
    told = f"^Flink 2.3.0 was asked for, but {folder / 'flink-dist-2.3.0.jar'} is Flink {said}. Put a jar of 2.3 there"
    with pytest.raises(UnusableImplementation, match=told):
        Jvm((), "2.3.0").check(Greeting(4, "flink-component", said, (), ()))


@pytest.mark.parametrize("said", ["2.3.0", "2.3-SNAPSHOT", "2.3.7", "2.3.0-mine", "<unknown>"])
def test_a_build_of_the_same_line_is_accepted(said):
    Jvm((), "2.3.0").check(Greeting(4, "flink-component", said, (), ()))


def test_a_failed_download_is_reported_and_leaves_nothing(nothing_here, capsys):
    assert main(["fetch", NEWEST]) == 2
    assert f"apache-flink-libraries=={NEWEST} could not be downloaded" in capsys.readouterr().err
    assert list((nothing_here / "cache" / "flink").iterdir()) == []
    assert main(["fetch", "0.9"]) == 2


def test_a_wheel_without_the_jar_is_reported(nothing_here, capsys):
    wheel(nothing_here, NEWEST, "pyflink/lib/log4j-core-2.jar")
    assert main(["fetch", NEWEST]) == 2
    assert f"came without flink-dist-{NEWEST}.jar" in capsys.readouterr().err


def test_of_two_that_finish_the_same_folder_both_are_content(tmp_path):
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    releases.move_into_place(tmp_path / "mine", tmp_path / "there")
    releases.move_into_place(tmp_path / "theirs", tmp_path / "there")
    assert (tmp_path / "there" / "file").read_text() == "mine"
    with pytest.raises(FileNotFoundError):
        releases.move_into_place(tmp_path / "nobody's", tmp_path / "elsewhere")


def test_a_missing_jdk_is_reported(tmp_path, monkeypatch, jdk_probe):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        UnusableImplementation, match=r"needs a JDK 17 or 21, but there is no java and javac in JAVA_HOME"
    ):
        shim.find_jdk()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('openjdk version "11.0.2"', "is version 11"),
        ('java version "1.8.0_402"', "is version 8"),
        ("gibberish", "is version unknown"),
    ],
)
def test_a_jdk_of_another_version_is_reported(tmp_path, monkeypatch, jdk_probe, said, told):
    (tmp_path / "bin").mkdir()
    for name in ("java", "javac"):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnusableImplementation, match=f"{told}.*Nothing was installed"):
        shim.find_jdk()


def test_what_was_compiled_is_known_by_its_sources_and_its_jar(tmp_path, monkeypatch):
    jar = tmp_path / "flink-dist-1.jar"
    jar.write_bytes(b"1")
    components = releases.COMPONENTS
    first = shim._key(jar, NEWEST, components)
    assert shim._key(jar, NEWEST, components) == first
    assert shim._key(jar, "2.2.1", components) != first
    jar.write_bytes(b"12")
    assert (second := shim._key(jar, NEWEST, components)) != first
    assert shim._key(jar, NEWEST, releases.JOBS) != second
    read = shim.read_sources(NEWEST, components)
    monkeypatch.setattr(shim, "read_sources", lambda version, sources: read[1:])
    assert shim._key(jar, NEWEST, components) not in (first, second)


NOT_ASKED_FOR = {
    ("coordinator", "fault"): Capability.FAULTS,
    ("gate", "insert_recovery_barriers"): Capability.RECOVERS_BY_PUSHING,
    **{
        (channel, operation): Capability.RECOVERS_BY_PUSHING
        for channel in ("local-channel", "remote-channel")
        for operation in ("push_recovered", "finish_recovered")
    },
    ("writer", "add_input_from_spill"): Capability.RECOVERS_BY_PUSHING,
    ("pipeline", "threads"): Capability.JOB_STEPS,
    ("pipeline", "work"): Capability.JOB_STEPS,
    ("pipeline", "lose"): Capability.JOB_STEPS,
    ("pipeline", "advance"): Capability.JOB_STEPS,
}
"""By component, the operations that no release is asked for, and the capability that its program does not claim."""


def test_the_java_side_knows_each_operation_that_it_may_be_asked_for():
    """A port that has a further operation is noticed without a JDK: else each scenario that calls it fails there."""
    offered = set(COMPONENTS) - {"chain", "drainer", "spill"}
    unknown = {
        (name, one)
        for name in offered
        for one in operations(COMPONENTS[name].port)
        if one not in known_to(subject(name))
    }
    assert unknown == NOT_ASKED_FOR.keys()
    for (name, _), capability in NOT_ASKED_FOR.items():
        program = ADAPTERS / subject(name).relative_to(ADAPTERS).parts[0]
        assert not any(f'"{capability}"' in one.read_text(encoding="utf-8") for one in program.rglob("*.java"))


def subject(component: str) -> Path:
    """The class in Java that performs the operations of a component."""
    (found,) = ADAPTERS.rglob("".join(word.capitalize() for word in component.split("-")) + "Subject.java")
    return found


def known_to(file: Path) -> set[str]:
    """The operations that a class knows, with those of the class that it extends."""
    java = file.read_text(encoding="utf-8")
    more = [known_to(file.with_name(f"{one}.java")) for one in re.findall(r"class \w+ extends (\w+Subject)\b", java)]
    return set(re.findall(r'case "([a-z_]+)"', java)).union(*more)


def test_no_answer_about_a_component_depends_on_a_clock():
    """A machine that stands still for a while must not change what Flink is said to have done. Real time may pass where
    it decides nothing: between two looks at a thread, and for whole jobs, whose threads work on their own."""
    clock = re.compile(r"TimeUnit\.[A-Z]*SECONDS\)|currentTimeMillis|nanoTime|orTimeout")
    folders = {folder for sources in (releases.GUARDED, releases.COORDINATORS) for folder in sources.folders}
    files = [file for folder in sorted(folders) for file in (ADAPTERS / folder).rglob("*.java")]
    assert files
    assert [file.name for file in files if clock.search(file.read_text(encoding="utf-8"))] == []
