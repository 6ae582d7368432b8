"""Commands on content: validate, import, edit, diff, match, namespaces and projects."""
