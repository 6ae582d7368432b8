"""Requests by the contract, and against it, as each role, made by schemathesis: every answer has to be one of the contract."""
