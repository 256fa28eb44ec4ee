"""Hypothesis strategies for the tests of the suite, and for users who write tests of their own."""

from strategies.scenarios import any_scenarios, configs, scenarios, steps

__all__ = ["any_scenarios", "configs", "scenarios", "steps"]
