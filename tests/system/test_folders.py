"""What a killed process leaves under the temporary folder, the next one removes; what is in use stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from conformance.system.folders import scratch

HOLDS = """
import sys
from pathlib import Path
from conformance.system.folders import scratch
with scratch("held-", Path(sys.argv[1])) as folder:
    (folder / "work").write_text("unfinished")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_removed_at_the_end(tmp_path):
    with scratch("mine-", tmp_path) as folder:
        (folder / "sub").mkdir()
        assert folder.parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_stays(tmp_path):
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    folders = []
    for one in holders:
        assert one.stdout is not None
        folders.append(one.stdout.readline().strip())
    other = tmp_path / "other-folder"
    other.mkdir()
    holders[0].send_signal(signal.SIGKILL)
    holders[0].wait()
    with scratch("held-", tmp_path) as mine:
        assert not os.path.exists(folders[0])
        assert sorted(map(str, tmp_path.iterdir())) == sorted([folders[1], str(mine), str(other)])
    holders[1].communicate()
    assert list(tmp_path.iterdir()) == [other]
