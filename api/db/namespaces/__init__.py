"""The reviews of a namespace in the database, and all records that end with a namespace.

Begin with `namespace_records`.
"""
