"""The number of times that tests repeat what is random: a few, or many with WAYPOST_TEST_THOROUGH=1, as `make soak` sets it."""

import os

IS_THOROUGH = os.environ.get("WAYPOST_TEST_THOROUGH") == "1"


def rounds(usual: int, thorough: int) -> int:
    """Return how often to repeat something in this run."""
    return thorough if IS_THOROUGH else usual
