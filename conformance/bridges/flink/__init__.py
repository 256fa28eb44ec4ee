"""Classes of released Apache Flink as implementations. Needs a JDK 17 or 21, and the jars of the release."""

from conformance.bridges.flink.implementation import (
    FlinkComponent,
    FlinkCoordinator,
    FlinkPipeline,
    FlinkRescaling,
    flink_component,
    flink_coordinator,
    flink_pipeline,
)
from conformance.bridges.flink.releases import RELEASES

__all__ = [
    "RELEASES",
    "FlinkComponent",
    "FlinkCoordinator",
    "FlinkPipeline",
    "FlinkRescaling",
    "flink_component",
    "flink_coordinator",
    "flink_pipeline",
]
