"""Episodes: whole jobs of engines that are programs, over the lives of their processes. Rules: docs/episodes.md.

The port is that of a job, at the level *job*, and so is the ledger. The steps are others, since such an engine takes
checkpoints on its own, and its user kills it and starts it again. So it is a component of its own, which no search of
the others draws (decision 85).
"""

from __future__ import annotations

from conformance.driver import Component
from conformance.episodes import rules
from conformance.episodes.config import EpisodeConfig
from conformance.episodes.drain import DRAIN
from conformance.episodes.ledger import EpisodeLedger
from conformance.episodes.steps import STEPS
from conformance.ports.episodes import EpisodePort

__all__ = ["COMPONENT", "RESTORES", "EpisodeConfig"]

RESTORES = "a-life-begins-from-recovery-data"
"""The situation without which episodes say little of an engine."""

COMPONENT = Component(
    name="episode",
    port=EpisodePort,
    config_type=EpisodeConfig,
    configs=(EpisodeConfig(),),
    port_config=EpisodeConfig.started,
    restored_config=lambda config, ledger: ledger.started(),
    make_ledger=lambda config, capabilities: EpisodeLedger(config),
    steps=tuple(STEPS.all),
    properties=tuple(rules.RULES.all),
    drain=DRAIN,
    final_phase="failed",
)
