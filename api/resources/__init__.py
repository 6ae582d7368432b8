"""The responders: a class for each path, in folders by subject.

A responder reads the request, calls the store or a service, and writes the response. A decorator declares its access.
"""
