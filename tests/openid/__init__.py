"""Login with a conforming provider of OpenID Connect."""
