"""JSON Schemas of every file and body, the OpenAPI description, and the check of data against them."""

from schemas.check import check, invalid_fields
from schemas.contract import Operation, openapi, openapi_bytes, operations, query_names
from schemas.loader import names, schema_bytes

__all__ = [
    "Operation",
    "check",
    "invalid_fields",
    "names",
    "openapi",
    "openapi_bytes",
    "operations",
    "query_names",
    "schema_bytes",
]
