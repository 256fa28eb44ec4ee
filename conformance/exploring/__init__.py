"""Explores a scope with many processes of this machine or of a cluster, in a folder, so that it can be continued."""

from collections.abc import Sequence

from conformance.campaigns import Spark, choose
from conformance.campaigns.runners import cores
from conformance.exploring.errors import ExplorationError
from conformance.exploring.exploring import Runner, explore_into
from conformance.exploring.folder import Explored
from conformance.exploring.machine import Machine

__all__ = ["ExplorationError", "Explored", "Machine", "explore_into", "runner_of"]


def runner_of(
    name: str | None = None, master: str | None = None, workers: int | None = None, conf: Sequence[str] = ()
) -> Runner:
    """Return the runner of this name: `processes`, one for each core unless `workers` says otherwise, or `spark`, on
    the cores of this machine or on what `master` names.

    `conf`: settings of Spark, each as `key=value`. Raises: CampaignError if one has another form; RunnerUnavailable.
    """
    if name != "spark":
        return Machine(workers or cores())
    from conformance.exploring.spark_levels import Cluster

    spark, _ = choose("spark", master, workers, conf=conf)
    assert isinstance(spark, Spark)
    return Cluster(spark.session)
