"""Compiles the Java side, once for each release, and makes the command that runs it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from conformance.bridges.flink.releases import cache_folder, find_jars, move_into_place
from conformance.ports import UnusableImplementation
from conformance.system.folders import scratch
from conformance.system.packaged import all_files

SOURCES = files("conformance.bridges.flink") / "java"
_LOGGING = "log4j2.properties"
MAIN_CLASS = "conformance.flink.Main"
JDKS = (17, 21)
"""The JDK versions that Flink 2 supports and that the suite was tested with."""

_JVM_OPTIONS = (
    # The JVM runs for a short time and does little, so a fast start matters more than fast code.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Xms32m",
    "-Xmx256m",
)


def command(version: str) -> tuple[str, ...]:
    """The command that runs the components of a release. Compiles the Java side first if that was not done yet.

    Raises: UnusableImplementation if the jars or the JDK are missing, or are of the wrong version.
    """
    jars = find_jars(version)
    java, _ = find_jdk()
    # Our classes come first; both must be on one class path, since one class loader must load a whole package.
    classes = compiled(version)
    class_path = os.pathsep.join(map(str, (classes, *jars)))
    logging = f"-Dlog4j.configurationFile={classes / _LOGGING}"
    return (java, *_JVM_OPTIONS, logging, "-cp", class_path, MAIN_CLASS)


def compiled(version: str) -> Path:
    """The folder of the compiled classes for a release.

    Raises: UnusableImplementation.
    """
    dist = find_jars(version)[0]
    destination = cache_folder() / "classes" / _key(dist)
    if not destination.is_dir():
        destination.parent.mkdir(parents=True, exist_ok=True)
        with scratch("compiling-", destination.parent) as folder:
            classes = folder / "classes"
            _compile(version, dist, folder / "java", classes)
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
    found = re.search(r'(?:version "|javac )(\d+)', said.stdout + said.stderr)
    return int(found[1]) if found else None


def _sources() -> list[tuple[PurePosixPath, bytes]]:
    """Return the files of the Java side with their places, read through the loader of this package."""
    return [(place, file.read_bytes()) for place, file in all_files(SOURCES)]


def _key(dist: Path) -> str:
    """A key of the sources and the jar. The jar is not read: reading 200 MB would take longer than compiling."""
    digest = hashlib.sha256(f"{dist.name} {dist.stat().st_size}".encode())
    for place, content in _sources():
        digest.update(f"\0{place}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def _compile(version: str, dist: Path, sources: Path, classes: Path) -> None:
    """Write the sources, which may be in a zip, and compile them."""
    _, javac = find_jdk()
    for place, content in _sources():
        path = (sources if place.suffix == ".java" else classes) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    options = ("-nowarn", "--release", str(min(JDKS)), "-encoding", "UTF-8")
    done = subprocess.run(
        [javac, *options, "-d", str(classes), "-cp", str(dist), *map(str, sorted(sources.rglob("*.java")))],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise UnusableImplementation(
            f"The Java side does not compile against Flink {version}. Check that {dist} is that release. javac said:\n"
            f"{done.stderr.strip()}"
        )
