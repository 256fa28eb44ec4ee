"""Producers, channels, a gate and a counting consumer, put together as a job puts them together."""
