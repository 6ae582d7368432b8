"""Processes of tests that start in milliseconds: forks of one that has already imported what they run.

A process that is spawned imports the service for a second or two, and such tests start several.
"""

import multiprocessing

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(
    ["pytest", "hypothesis.stateful", "tests.api.world", "tests.cli.terminal", "tests.gitstore.fixtures"]
)
