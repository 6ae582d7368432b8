"""The packs that are sent: their objects are found, copied from the packs on disk, and kept for the next clone.

Begin reading at `selection` for the objects of a pack, and at `sent_pack` for its bytes.
"""
