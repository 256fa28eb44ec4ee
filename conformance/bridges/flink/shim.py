"""Compiles the Java side, once for each release and set of sources, and makes the command that runs it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from conformance.bridges.flink.releases import (
    COMPONENTS,
    SourceSet,
    cache_folder,
    check_release,
    find_jars,
    move_into_place,
)
from conformance.ports import UnusableImplementation
from conformance.system.folders import scratch
from conformance.system.packaged import all_files
from conformance.system.writing import make_folder, write_bytes

_LOGGING = "log4j2.properties"
MAIN_CLASS = "conformance.flink.Main"
JDKS = (17, 21)
"""The JDK versions that Flink supports and that the suite was tested with."""

_JVM_OPTIONS = (
    # The JVM runs for a short time and does little, so a fast start matters more than fast code.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Xms32m",
)


def command(
    version: str, sources: SourceSet = COMPONENTS, main_class: str = MAIN_CLASS, memory: str = "256m",
    own: str = "", properties: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:  # fmt: skip
    """The command that runs a class of the Java side on a release, with so much heap at most. `own`: the class path of
    the user's classes, which comes last; `properties`: system properties of the JVM.

    Compiles the sources first if that was not done yet.

    Raises: UnusableImplementation if the jars or the JDK are missing, or are of the wrong version.
    """
    check_release(version, sources)
    jars = find_jars(version)
    java, _ = find_jdk()
    # Our classes come first; both must be on one class path, since one class loader must load a whole package.
    classes = compiled(version, sources)
    class_path = os.pathsep.join([*map(str, (classes, *jars)), *filter(None, [own])])
    logging = f"-Dlog4j.configurationFile={classes / _LOGGING}"
    set_ones = (f"-D{name}={value}" for name, value in properties.items())
    return (java, *_JVM_OPTIONS, f"-Xmx{memory}", logging, *set_ones, "-cp", class_path, main_class)


def compiled(version: str, sources: SourceSet = COMPONENTS) -> Path:
    """The folder of the compiled classes for a release.

    Raises: UnusableImplementation.
    """
    check_release(version, sources)
    dist = find_jars(version)[0]
    destination = cache_folder() / "classes" / _key(dist, version, sources)
    if not destination.is_dir():
        destination.parent.mkdir(parents=True, exist_ok=True)
        with scratch("compiling-", destination.parent) as folder:
            classes = folder / "classes"
            _compile(dist, version, sources, folder / "java", classes)
            move_into_place(classes, destination)
    return destination


@cache
def find_jdk() -> tuple[str, str]:
    """The paths of java and javac: those of JAVA_HOME, else those on the PATH.

    Raises: UnusableImplementation if either is missing, or their version is not one of `JDKS`.
    """
    folder = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME, which is {folder}" if folder else "the PATH"
    path = os.path.join(folder, "bin") if folder else None
    java, javac = shutil.which("java", path=path), shutil.which("javac", path=path)
    needed = f"Real Flink needs a JDK {' or '.join(map(str, JDKS))}"
    cure = "Install one, and put it on the PATH or set JAVA_HOME to it; a JRE is not enough. Nothing was installed."
    if java is None or javac is None:
        missing = " and ".join(name for name, found in (("java", java), ("javac", javac)) if found is None)
        raise UnusableImplementation(f"{needed}, but there is no {missing} in {where}. {cure}")
    for program in (java, javac):
        version = _major(program)
        if version not in JDKS:
            raise UnusableImplementation(
                f"{needed}, but {program} in {where} is version {version or 'unknown'}. {cure}"
            )
    return java, javac


def _major(program: str) -> int | None:
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return None
    # Up to Java 8, the first number is always 1.
    found = re.search(r'(?:version "|javac )(?:1\.)?(\d+)', said.stdout + said.stderr)
    return int(found[1]) if found else None


def read_sources(version: str, sources: SourceSet = COMPONENTS) -> list[tuple[PurePosixPath, bytes]]:
    """The files of a set for a release with their places in its folders, read through the loader of this package."""
    package, folders = files("conformance.bridges.flink"), sources.folders_for(version)
    return [(place, file.read_bytes()) for folder in folders for place, file in all_files(package / folder)]


def _key(dist: Path, version: str, sources: SourceSet) -> str:
    """A key of the sources and the jar. The jar is not read: reading 200 MB would take longer than compiling."""
    digest = hashlib.sha256(f"{dist.name} {dist.stat().st_size}".encode())
    for place, content in read_sources(version, sources):
        digest.update(f"\0{place}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def _compile(dist: Path, version: str, sources: SourceSet, folder: Path, classes: Path) -> None:
    """Write the sources, which may be in a zip, and compile them."""
    _, javac = find_jdk()
    for place, content in read_sources(version, sources):
        path = (folder if place.suffix == ".java" else classes) / place
        make_folder(path.parent)
        write_bytes(path, content)
    options = ("-nowarn", "--release", str(min(JDKS)), "-encoding", "UTF-8")
    done = subprocess.run(
        [javac, *options, "-d", str(classes), "-cp", str(dist), *map(str, sorted(folder.rglob("*.java")))],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise UnusableImplementation(
            f"The Java side of the {sources.tests} does not compile against {dist.name}. Check that {dist} is that "
            f"release. javac said:\n{done.stderr.strip()}"
        )
