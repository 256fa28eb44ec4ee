"""A cluster of Spark on this machine: a master and workers, each a process, whose executors do not have the project."""

from __future__ import annotations

import os
import re
import site
import socket
import stat
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from conformance.system.processes import Started

_DEPLOY = "org.apache.spark.deploy"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_URL = re.compile(rb"spark://[\w.]+:\d+")
_SMALL = {
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_SECONDS = 600
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1"}


class Cluster:
    """A master, and workers of one core that can be started and ended at any time."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._folder = folder
        self._command = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        self._workers: list[Started] = []
        self._master = self._start("master.Master", "--port", "0")
        self.url = self._said("master", _URL)
        self.python = _python_without_the_project(folder)

    def add_worker(self) -> Started:
        """Start a worker. It is there when the master has registered it, which takes a few seconds."""
        where = self._folder / f"worker-{len(self._workers)}"
        started = self._start("worker.Worker", "-c", "1", "-m", "1g", "-d", str(where), self.url, log=where.name)
        self._workers.append(started)
        return started

    def _start(self, name: str, *arguments: str, log: str = "master") -> Started:
        command = [self._command, f"{_DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with (self._folder / f"{log}.log").open("wb") as file:
            return Started(
                command,
                env={**os.environ, **LOCAL, **_SMALL},
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def _said(self, log: str, expected: re.Pattern[bytes]) -> str:
        path = self._folder / f"{log}.log"
        for _ in range(_SECONDS * 10):
            if found := expected.search(path.read_bytes()):
                return found[0].decode()
            time.sleep(0.1)
        raise AssertionError(f"{log} did not start: {path.read_text(errors='replace')[-2000:]}")

    def close(self) -> None:
        """End all processes of the cluster."""
        for one in (*self._workers, self._master):
            one.kill()


class Server(NamedTuple):
    """A Spark Connect server."""

    address: str
    process: Started


@contextmanager
def connect_server(folder: Path) -> Iterator[Server]:
    """Yield a Spark Connect server with two cores, whose tasks do not have the project."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
    }  # fmt: skip
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--class", _CONNECT]
    command += [
        "--master",
        "local[2,4]",
        *(word for one in settings.items() for word in ("--conf", "=".join(map(str, one)))),
    ]
    python = str(_python_without_the_project(folder))
    with (folder / "server.log").open("wb") as log:
        server = Started(
            [*command, "spark-internal"],
            env={**os.environ, **LOCAL, "PYSPARK_PYTHON": python},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(_SECONDS * 10):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        else:
            raise AssertionError(
                f"the server did not start: {(folder / 'server.log').read_text(errors='replace')[-2000:]}"
            )
        yield Server(f"sc://127.0.0.1:{port}", server)
    finally:
        server.kill()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Yield a cluster without workers. At the end, end all of its processes."""
    found = Cluster(folder)
    try:
        yield found
    finally:
        found.close()


def _python_without_the_project(folder: Path) -> Path:
    """Make a command that runs this Python with all that is installed but this project."""
    there = folder / "installed"
    there.mkdir()
    ours = re.compile(r"checkpoint_conformance.*|__editable__.*|.*\.pth|conformance|strategies|reference_impl|tests")
    ended = [one for one in sys.path if Path(one).name == "site-packages"]  # also what a file .pth has added
    places = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages(), *ended)
    for place in dict.fromkeys(places):
        for one in Path(place).iterdir() if Path(place).is_dir() else ():
            if not ours.fullmatch(one.name) and not (there / one.name).exists():
                (there / one.name).symlink_to(one)
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{there}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return command
