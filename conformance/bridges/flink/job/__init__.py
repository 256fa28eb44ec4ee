"""A job on released Flink that checks the protocol between the coordinator and the readers of a source.

The job keeps ledgers on both sides of the protocol: of the splits and events that the enumerator sent to each reader
and that the reader received, and of the reports that each reader sent and the enumerator received. A completed
checkpoint must hold the same ledger of what was sent down on both sides, and at the end every unit of work must have
come out exactly once, whatever failed in between. It judges a whole cluster from outside: it sees which interleavings
happened, and cannot choose them.
"""

from conformance.bridges.flink.job.config import Fault, JobConfig, Where
from conformance.bridges.flink.job.judge import Finding, Kind, Verdict, judge
from conformance.bridges.flink.job.lines import read_lines
from conformance.bridges.flink.job.run import run_job

__all__ = ["Fault", "Finding", "JobConfig", "Kind", "Verdict", "Where", "judge", "read_lines", "run_job"]
