"""Finds out whether Spark can be used here, and what to install if not. It installs nothing and starts only `java`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

JAVA_VERSIONS = (17, 21)
"""The versions that the supported releases of Spark run on."""

HOW_TO_INSTALL_JAVA = (
    "Debian, Ubuntu: sudo apt-get install openjdk-17-jre-headless (or openjdk-21-jre-headless, whichever the release "
    "has); Fedora: sudo dnf install java-21-openjdk-headless; macOS: brew install openjdk@21, then set JAVA_HOME to it"
)
HOW_TO_INSTALL_PYSPARK = "pip install 'checkpoint-conformance[spark]'"

_PACKAGES = ("pyspark", "pandas")
"""What the driver needs: pyspark asks for pandas wherever Arrow is used."""
_FOR_CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class Java(NamedTuple):
    """The Java that Spark would use. `version` is its major version, or None if it prints none."""

    command: str
    version: int | None


FindJava = Callable[[], Java | None]
HasModule = Callable[[str], bool]


def has_module(name: str) -> bool:
    """Whether a module is installed, without importing it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # it is part of a package that is not installed
        return False


def find_java(
    environment: Mapping[str, str] = os.environ,
    which: Callable[[str], str | None] = shutil.which,
    version_text: Callable[[str], str | None] | None = None,
) -> Java | None:
    """Find `JAVA_HOME/bin/java` or, without JAVA_HOME, `java` on the PATH, as Spark does; None if it cannot be run.

    `version_text` returns what `COMMAND -version` prints, or None if the command cannot be run.
    """
    home = environment.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else which("java")
    if command is None:
        return None
    text = (version_text or _version_text)(command)
    if text is None:
        return None
    found = _VERSION.search(text)
    return Java(command, int(found[1]) if found else None)


def spark_problem(java: FindJava = find_java, has: HasModule = has_module, connects: bool = False) -> str | None:
    """Return a paragraph that says what is missing and how to install it, or None if Spark can be used.

    `connects`: whether a Spark Connect server is used, whose client needs no Java and more packages.
    """
    missing = []
    cures = []
    if absent := [name for name in (_PACKAGES + _FOR_CONNECT if connects else _PACKAGES) if not has(name)]:
        missing.append(f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed")
        cures.append(HOW_TO_INSTALL_PYSPARK)
    found = None if connects else java()
    if not connects and (found is None or found.version not in JAVA_VERSIONS):
        if found is None:
            missing.append("there is none: neither JAVA_HOME/bin/java nor a java on the PATH can be run")
        elif found.version is None:
            missing.append(f"{found.command} does not say which version it is")
        else:
            missing.append(f"{found.command} is Java {found.version}")
        missing[-1] = f"it needs Java 17 or 21, but {missing[-1]}"
        cures.append(HOW_TO_INSTALL_JAVA)
    if not missing:
        return None
    return (
        f"The runner spark cannot be used: {', and '.join(missing)}. To install what is missing: "
        f"{'; and: '.join(cures)}. The runner processes needs neither, and gives the same result."
    )


def _version_text(command: str) -> str | None:
    try:
        ran = subprocess.run([command, "-version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return None
    return ran.stderr + ran.stdout
