"""The checks behind readiness: of content, data, disk and writes.

Begin reading at `readiness_checks`.
"""
