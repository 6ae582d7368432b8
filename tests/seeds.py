"""Seeds of the generated cases: the same for each run, so that a red run means that a change broke something.

With WAYPOST_TEST_EXPLORE=1 they are new for each run; a failure then names its seed.
"""

import os
import random

RANDOM_SEEDS = os.environ.get("WAYPOST_TEST_EXPLORE") == "1"


def first_seed(shard: int = 0) -> int:
    """Return the first seed of a test; shards are far apart."""
    start = random.randrange(1 << 40) if RANDOM_SEEDS else 0  # noqa: S311 - test data
    return start + shard * 1_000_000
