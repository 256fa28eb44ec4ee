"""Settings for the tests of the suite itself."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from hypothesis import settings

# A deadline reads the clock, and a busy machine misses it. Without a seed, a failure would not occur again.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")

# Hypothesis reads the constants of every module of ours, and keeps them. The processes that tests start, in folders of
# their own, find them there instead of reading all again. No examples are kept: see the profile above, `check` and
# `tests/suite/test_judging.py`.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).resolve().parents[1] / ".hypothesis"))


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: the garbage collector looked at each of them, every time."""
    gc.collect()
    gc.freeze()
