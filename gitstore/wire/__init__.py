"""Git's wire protocol: pkt-lines, the advertisement of refs, fetches, and the reception of pushed packs.

It knows requests, responses, packs and the quarantine of new objects, and nothing of projects and rules. Begin reading
at `fetch/upload_pack.py` for a fetch, and at `push/pack_reader.py` for a push.
"""
