"""Implementations in other processes: programs that speak JSON Lines, and Apache Flink."""
