"""Settings of Hypothesis for the tests of the suite itself."""

from __future__ import annotations

from hypothesis import settings

# A deadline reads the clock, and a busy machine misses it. Without a seed, a failure would not occur again.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")
