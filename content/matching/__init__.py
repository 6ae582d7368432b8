"""Matching: from a request to the rule that answers it.

Begin with `matcher`; `canonical` defines the form in which requests and sources are compared.
"""
