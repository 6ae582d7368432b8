"""The upstream of a namespace, another repository: it is followed (`source`), or receives what is published (`mirror`).

See docs/adr/0048-upstreams.md.
"""
