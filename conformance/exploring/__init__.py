"""Explores a scope with many processes of this machine or of a cluster, in a folder, so that it can be continued."""

from conformance.exploring.errors import ExplorationError
from conformance.exploring.exploring import Runner, explore_into
from conformance.exploring.folder import Explored
from conformance.exploring.machine import Machine

__all__ = ["ExplorationError", "Explored", "Machine", "by_spark", "explore_into"]


def by_spark(master: str | None = None, workers: int | None = None) -> Runner:
    """Return what explores with Spark: on the cores of this machine, or on what `master` names."""
    from conformance.campaigns import Spark
    from conformance.exploring.spark_levels import Cluster

    return Cluster(Spark(master, workers).session)
