"""Folders of jobs are copied whatever is in them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from conformance.system.copying import copy_file, copy_folder, link_folder


@pytest.mark.parametrize("copying", [copy_folder, link_folder])
def test_what_has_no_content_is_left_out_and_links_stay_links(copying, tmp_path: Path, monkeypatch):
    """Seen: a pipe in the folder of a job made a block of a campaign one that was lost."""
    job = tmp_path / "job"
    (job / "state").mkdir(parents=True)
    (job / "state" / "1").write_text("7")
    (job / "link").symlink_to("state/1")
    (job / "dangling").symlink_to("nowhere")
    os.mkfifo(job / "pipe")
    monkeypatch.chdir(job)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind("socket")
        copying(job, tmp_path / "copy")
    found = {one.name for one in (tmp_path / "copy").rglob("*")}
    assert found == {"state", "1", "link", "dangling"}
    assert (tmp_path / "copy" / "state" / "1").read_text() == "7"
    assert os.readlink(tmp_path / "copy" / "link") == "state/1"


def test_a_file_that_is_gone_is_left_out(tmp_path: Path):
    copy_file(str(tmp_path / "gone"), str(tmp_path / "copy"))
    assert list(tmp_path.iterdir()) == []
