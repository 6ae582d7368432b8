"""Request parsing: bodies, uploads, query parameters and proxy headers, all strict.

Begin with `json_body` and `parameters`.
"""
