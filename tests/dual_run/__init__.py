"""Compares two versions of the suite: what they draw, what they observe and what they judge on the same scenarios.

`python -m tests.dual_run REVISION` compares the working copy with an earlier revision. Each version runs in processes
of its own. Each draws scenarios and judges those of the other one, which it reads from their files, as it would read
the file of a user. It serves the restructuring of the judges, and is deleted when that is done.
"""
