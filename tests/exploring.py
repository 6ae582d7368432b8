"""Which generated cases the tests look at: the same ones each time, so that a red run means that a change broke something.

With WAYPOST_TEST_EXPLORE=1 they are new ones each time; a failure then names its seed.
"""

import os
import random

EXPLORES = os.environ.get("WAYPOST_TEST_EXPLORE") == "1"


def first_seed(shard: int = 0) -> int:
    """Where the numbered cases of a test begin; shards are far apart."""
    start = random.randrange(1 << 40) if EXPLORES else 0  # noqa: S311 - test data
    return start + shard * 1_000_000
