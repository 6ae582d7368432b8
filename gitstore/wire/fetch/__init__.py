"""Fetches and clones: from a request to the pack that answers it.

Begin reading at `upload_pack`.
"""
