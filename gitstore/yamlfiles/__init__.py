"""Files of rules: read strictly, written in two layouts, and edited so that every other byte stays.

Start with `rule_file` (bytes to records) and `rewrite` (records to the smallest edit of the bytes).
"""
