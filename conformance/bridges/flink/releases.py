"""The Flink releases that can be tested, where their jars are, and how they are fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

from conformance.ports import UnusableImplementation
from conformance.system.folders import scratch
from conformance.system.writing import naming


@dataclass(frozen=True)
class SourceSet:
    """Java sources that are compiled together, for one release at a time.

    What they call in Flink is package-private or was changed between releases, so each set knows what it fits.
    """

    tests: str
    """What can be tested with it, in the plural."""
    folders: tuple[str, ...]
    """Where its sources lie, in this package. Folders may be part of several sets."""
    releases: tuple[str, ...]
    """The releases that it compiles against and was tried with, the newest first."""
    fitted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By release, further folders: what calls code of Flink that differs between releases."""

    def folders_for(self, version: str) -> tuple[str, ...]:
        """The folders that are compiled for a release."""
        return (*self.folders, *self.fitted.get(version, ()))


_SHARED = "java_shared"
_RESCALING = ("java_rescaling", "java_network", _SHARED)
_FITTED = MappingProxyType(
    {
        "2.3.0": ("java_graph_2", "java_network_2", "java_assignment_2_3", "java_filter_2_3"),
        "2.2.1": ("java_graph_2", "java_network_2", "java_assignment_before_2_3", "java_filter_before_2_3"),
        "1.20.5": ("java_graph_1", "java_network_1", "java_assignment_before_2_3", "java_filter_before_2_3"),
    }
)
COMPONENTS = SourceSet("components", ("java", *_RESCALING), ("2.3.0", "2.2.1"), _FITTED)
COORDINATORS = SourceSet("coordinators", ("java_coordinator", _SHARED), ("2.3.0", "2.2.1", "1.20.5"))
JOBS = SourceSet("jobs", ("java_job", _SHARED), ("2.3.0", "2.2.1", "1.20.5"))
PIPELINES = SourceSet("whole jobs", ("java_pipeline", _SHARED), ("2.3.0", "2.2.1", "1.20.5"))
CHANGED_PIPELINES = SourceSet("whole jobs with a later change", (*PIPELINES.folders, "java_overlay"), ("2.3.0",))
RESCALING = SourceSet("changes of parallelism", _RESCALING, ("2.3.0", "2.2.1", "1.20.5"), _FITTED)
GUARDED = SourceSet("components without a guard", (*COMPONENTS.folders, "java_guards"), ("2.3.0",), _FITTED)
SOURCE_SETS = (COMPONENTS, GUARDED, RESCALING, COORDINATORS, JOBS, PIPELINES, CHANGED_PIPELINES)

RELEASES = COMPONENTS.releases
"""The releases whose components can be tested, the newest first, which is the default."""

KNOWN_RELEASES = ("2.3.0", "2.2.1", "1.20.5")
"""The releases of which anything can be tested, the newest first."""

DISTRIBUTION = "apache-flink-libraries"
"""The Python distribution that contains the jars. The suite only unpacks it, and installs nothing."""
_JARS_IN_WHEEL = "pyflink/lib"
_JARS_IN_SDIST = "deps/lib"
"""Below the folder that a source distribution has at its top. Releases before 2.0 came as source distributions."""

EXTRA_RELEASE = "2.3.0"
"""The release that the extra `flink` of pyproject.toml installs."""
_EXTRA = "`pip install 'checkpoint-conformance[flink]'` installs them together with the suite. "

HOME_VARIABLE = "CONFORMANCE_FLINK_HOME"
CACHE_VARIABLE = "CONFORMANCE_CACHE"


def cache_folder() -> Path:
    """Where fetched jars and compiled classes are kept: $CONFORMANCE_CACHE, or a folder in the user's cache."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "checkpoint-conformance"


def check_release(version: str, sources: SourceSet | None = None) -> None:
    """Without a set of sources: check only that the release is a known one.

    Raises: UnusableImplementation if it is not, or if it cannot be tested with these sources; it names those that can.
    """
    if version not in KNOWN_RELEASES:
        raise UnusableImplementation(
            f"Flink {version!r} cannot be tested: this suite knows {_listed(KNOWN_RELEASES)}. The Java side calls "
            "package-private code of Flink, so it must be adapted to another release first."
        )
    if sources is not None and version not in sources.releases:
        others = _listed([one.tests for one in SOURCE_SETS if version in one.releases])
        raise UnusableImplementation(
            f"The {sources.tests} of Flink {version} cannot be tested, only its {others}. "
            f"The {sources.tests} of {_listed(sources.releases)} can be."
        )


def find_jars(version: str) -> tuple[Path, ...]:
    """The jars of a release, flink-dist first.

    Looked for in $CONFORMANCE_FLINK_HOME/<version>, in an installed distribution of exactly this version, and in the
    cache.

    Raises: UnusableImplementation, which names the command that fetches them, or says what is wrong with the folder.
    """
    check_release(version)
    _check_home(version)
    folders = [folder for folder in (_home(version), _installed(version), _cached(version)) if folder is not None]
    for folder in folders:
        if jars := _jars_in(folder, version):
            return jars
    extra = _EXTRA if version == EXTRA_RELEASE else ""
    raise UnusableImplementation(
        f"The jars of Flink {version} were not found. `python -m conformance.bridges.flink fetch {version}` downloads "
        f"them, up to 330 MB, into the cache {cache_folder()}. {extra}If you have them, put "
        f"flink-dist-{version}.jar and the log4j jars into a folder {version} and set {HOME_VARIABLE} to the folder "
        f"around it. The suite looked in {', '.join(map(str, folders))}."
    )


def fetch(version: str) -> tuple[Path, ...]:
    """The jars of a release, downloaded into the cache unless they are here already.

    Raises: UnusableImplementation if the download fails; it says how.
    """
    check_release(version)
    _check_home(version)
    try:
        return find_jars(version)
    except UnusableImplementation:
        pass
    destination = _cached(version)
    destination.parent.mkdir(parents=True, exist_ok=True)
    # Beside its destination, so that the finished folder can be moved there in one step: another process sees all of it
    # or nothing, and an interrupted download leaves nothing that looks complete.
    with scratch("fetching-", destination.parent) as folder:
        _download(version, folder)
        unpacked = folder / "jars"
        for downloaded in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
            _unpack(downloaded, unpacked)
        if not _jars_in(unpacked, version):
            raise UnusableImplementation(f"{DISTRIBUTION}=={version} came without flink-dist-{version}.jar.")
        move_into_place(unpacked, destination)
    return find_jars(version)


def move_into_place(finished: Path, destination: Path) -> None:
    """Rename a finished folder. If another process has made the destination meanwhile, that one is kept."""
    try:
        os.replace(finished, destination)
    except OSError:
        if not destination.is_dir():
            raise


def _home(version: str) -> Path | None:
    home = os.environ.get(HOME_VARIABLE)
    return Path(home, version) if home else None


def _check_home(version: str) -> None:
    """A user who sets the variable tests a build of their own: what is released must not take its place unseen.

    A folder that has other releases is right: those are the user's own, and this one is the released one.
    """
    mine = _home(version)
    if mine is None or _jars_in(mine, version):
        return
    if mine.exists() or not any(_jars_in(mine.parent / one, one) for one in KNOWN_RELEASES):
        raise UnusableImplementation(
            f"{HOME_VARIABLE} is {mine.parent}, but there is no {mine / f'flink-dist-{version}.jar'}. Put the jar "
            "there, under this name, with those of log4j; or unset the variable to test what is released."
        )


def _installed(version: str) -> Path | None:
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    return Path(str(distribution.locate_file(_JARS_IN_WHEEL))) if distribution.version == version else None


def _cached(version: str) -> Path:
    return cache_folder() / "flink" / version


def _jars_in(folder: Path, version: str) -> tuple[Path, ...]:
    dist = folder / f"flink-dist-{version}.jar"
    return (dist, *sorted(folder.glob("log4j*.jar"))) if dist.is_file() else ()


def _download(version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"{DISTRIBUTION}=={version}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = "\n".join(f"  {line}" for line in done.stderr.splitlines()[-5:])
        raise UnusableImplementation(
            f"{DISTRIBUTION}=={version} could not be downloaded with `{sys.executable} -m pip download`, which said:\n"
            f"{last}\nThe download needs pip, and a package index that it can reach."
        )


def _unpack(downloaded: Path, folder: Path) -> None:
    """Unpack only the jars that are needed at run time; all others would need as much space again."""
    folder.mkdir(exist_ok=True)
    members = _in_wheel if downloaded.suffix == ".whl" else _in_sdist
    for path, source in members(downloaded):
        with source, naming(folder / path.name), open(folder / path.name, "wb") as target:
            shutil.copyfileobj(source, target)


def _is_needed(path: PurePosixPath) -> bool:
    return path.match("flink-dist*.jar") or path.match("log4j*.jar")


def _in_wheel(wheel: Path) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            path = PurePosixPath(entry)
            if _is_needed(path) and str(path.parent) == _JARS_IN_WHEEL:
                yield path, archive.open(entry)


def _in_sdist(sdist: Path) -> Iterator[tuple[PurePosixPath, IO[bytes]]]:
    with tarfile.open(sdist, "r|*") as archive:  # compressed, so it is read once, from its beginning to its end
        for entry in archive:
            path = PurePosixPath(entry.name)
            in_jars = PurePosixPath(*path.parts[1:]).parent == PurePosixPath(_JARS_IN_SDIST)
            if entry.isfile() and in_jars and _is_needed(path) and (source := archive.extractfile(entry)) is not None:
                yield path, source


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
