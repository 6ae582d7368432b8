"""The samples of `/metrics`, as numbers."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Metrics = dict[tuple[str, Labels], float]


def read_metrics(client: httpx.Client, token: str) -> Metrics:
    """Return every sample by its name and labels, read over a separate connection."""
    headers = {"Authorization": f"Bearer {token}", "Connection": "close"}
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def total(metrics: Metrics, name: str, **labels: str) -> float:
    """Return the sum of all samples of a name that have these labels."""
    asked = set(labels.items())
    return sum(value for (found, has), value in metrics.items() if found == name and asked <= has)
