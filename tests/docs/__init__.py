"""The documentation held to the product: what it lists is all there is, its links lead somewhere, its examples run."""
