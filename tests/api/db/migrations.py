"""The packaged migrations, read from their file names."""

from tests.service import ROOT


def newest_migration() -> str:
    """Return the number of the newest migration, such as `0006`."""
    return max(path.name.partition("_")[0] for path in (ROOT / "api" / "db" / "migrations" / "versions").glob("0*.py"))
