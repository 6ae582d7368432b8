"""The composition of the application from the settings: routes, middleware and services.

Begin with `composition`, the only module that imports every part.
"""
