"""The page in a real browser, which reads it as its readers' browsers do."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from conformance.reporting.page import write_index
from tests.reporting.test_page import HOSTILE, content

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]


def opened(folder, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *options]
    return subprocess.run(
        [*command, f"file://{folder}/index.html"], capture_output=True, text=True, check=True, timeout=120
    )


def test_a_browser_draws_every_message_and_complains_of_nothing(tmp_path):
    shown = content()
    write_index(tmp_path, shown)
    done = opened(tmp_path, "--enable-logging=stderr", "--dump-dom")
    messages = (tmp_path / "index.html").read_text(encoding="utf-8").count('<g class="message')
    assert messages > 3
    assert done.stdout.count('<g class="message') == messages
    assert "CONSOLE" not in done.stderr  # a style that the policy refuses would be said there


def test_a_browser_takes_a_hostile_text_as_text(tmp_path):
    write_index(tmp_path, content(name=HOSTILE, status=HOSTILE))
    done = opened(tmp_path, "--enable-logging=stderr", "--dump-dom")
    assert "<script" not in done.stdout
    assert "&lt;script&gt;" in done.stdout
    assert "CONSOLE" not in done.stderr
