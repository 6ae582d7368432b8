"""SSH signatures of commits: made with the key of the service, and checked against the signers of a namespace.

Nothing here reads a repository. The library `cryptography` is imported where a key is used, since it takes a part of the start.
"""
