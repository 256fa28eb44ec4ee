"""Producers, network readers, a gate, a drainer and a counting consumer, put together as a job puts them together."""
