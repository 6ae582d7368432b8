"""Git over HTTP: clone, fetch and push of a namespace's repository."""
