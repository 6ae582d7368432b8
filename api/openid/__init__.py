"""Login with an OpenID provider: the requests to it, the checks of its answers, and the accounts of its people.

The modules that import Authlib and joserfc are imported only where a provider is configured.
"""
