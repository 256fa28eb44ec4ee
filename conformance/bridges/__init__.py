"""Implementations that do not live in this process: programs that speak JSON Lines, and Apache Flink."""
