"""Care of repositories: checks and repairs of what is on disk, backups as Git bundles, and their restoration.

Begin with `repository_check` and `namespace_backup`.
"""
