"""Hypothesis strategies: what tests of the suite, and users who write their own, draw from."""

from strategies.scenarios import configs, scenarios, steps

__all__ = ["configs", "scenarios", "steps"]
