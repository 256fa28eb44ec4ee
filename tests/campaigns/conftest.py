"""A campaign that has ended, for tests that change its folder."""

from __future__ import annotations

import shutil

import pytest

from conformance.campaigns import Inline, start
from tests.campaigns.ended import PLAN


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A campaign that has ended. Tests change copies of it."""
    folder = tmp_path_factory.mktemp("whole") / "campaign"
    start(folder, PLAN, Inline())
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "deep" / "er" / "campaign")
    return tmp_path / "deep" / "er" / "campaign"
