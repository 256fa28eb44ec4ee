"""Engines whose jobs are programs: an adapter of a few lines in any language stands between. docs/episodes.md."""

from conformance.bridges.episodes.implementation import Episodes, episodes

__all__ = ["Episodes", "episodes"]
