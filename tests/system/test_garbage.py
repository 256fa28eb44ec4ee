"""Only a process of our own spares the garbage collector what is loaded: that of pytest belongs to its user."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("program", "spared"),
    [
        ("import conformance.cli, conformance.engines, conformance.suite, checkpoint_conformance_pytest", False),
        ("from conformance.cli import main; main(['--version'])", False),
        ("import sys; from conformance.cli import main; sys.argv = ['', '--version']; main()", True),
    ],
    ids=["imported", "called with arguments", "the process of a command"],
)
def test_what_is_loaded_is_spared_in_the_process_of_a_command_alone(program, spared):
    code = f"import atexit, gc; atexit.register(lambda: print('spared', gc.get_freeze_count() > 1000)); {program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"spared {spared}"
