"""Who is calling and what they may do: passwords, tokens, keys, grants, and the directory that a request asks."""
