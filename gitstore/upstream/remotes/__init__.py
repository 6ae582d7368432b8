"""The other repository: over HTTP, by SSH or at a path; as a whole, or a folder of it as a repository of its own."""
