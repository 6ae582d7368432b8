"""The HTTP layer: the processing of a request, the same for every route.

`request_context` is the outermost middleware, `guard` authenticates and authorises, `request` parses, `response`
serializes; `fast_path` answers plain reads of agents ahead of all of them. Begin with `request_context`.
"""
