"""The yardstick for `waypost validate`: the usual tools for the same task.

python -m bench.plain_validator FOLDER reads every redirects file below FOLDER with `yaml.CSafeLoader` and checks it with
`jsonschema` against the same schema. It prints the number of rules, and exits with 1 if one is invalid.
"""

import sys
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from schemas.loader import documents, uri


def validate_files(folder: Path) -> tuple[int, int]:
    """Return the number of rules in the files, and the number of violations of the schema."""
    registry: Registry[Any] = Registry()
    resources: list[tuple[str, Resource[Any]]] = [
        (name, Resource.from_contents(document)) for name, document in documents()
    ]
    validator = Draft202012Validator({"$ref": uri("redirects")}, registry=registry.with_resources(resources))
    count = violations = 0
    for path in sorted(folder.rglob("redirects/*.yaml")):
        loaded = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        violations += sum(1 for _ in validator.iter_errors(loaded))
        count += len(loaded["redirects"])
    return count, violations


if __name__ == "__main__":
    rules, errors = validate_files(Path(sys.argv[1]))
    print(f"{rules} rules, {errors} errors")
    sys.exit(1 if errors else 0)
