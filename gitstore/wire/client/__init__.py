"""A client of Git's protocol: the refs of another repository, a fetch from it into a quarantine, a push to it.

It trusts nothing that it reads: bytes and seconds have limits, and addresses are checked before each connection.
"""
