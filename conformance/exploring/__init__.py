"""Explores a scope with many processes of this machine or of a cluster, in a folder, so that it can be continued."""

from conformance.exploring.errors import ExplorationError
from conformance.exploring.exploring import explore_into
from conformance.exploring.folder import Explored
from conformance.exploring.machine import Machine

__all__ = ["ExplorationError", "Explored", "Machine", "explore_into"]
