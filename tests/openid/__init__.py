"""Login with a conforming OpenID provider."""
