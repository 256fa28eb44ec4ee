"""Settings for the tests of the suite itself."""

from __future__ import annotations

import gc

from hypothesis import settings

# A deadline reads the clock, and a busy machine misses it. Without a seed, a failure would not occur again.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: the garbage collector looked at each of them, every time."""
    gc.collect()
    gc.freeze()
