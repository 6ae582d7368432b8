"""One namespace's bare repository: objects, refs, locks and transactions.

No other package imports dulwich. Start with `repository` (reading) and `transaction` (writing).
"""
