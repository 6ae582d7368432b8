"""The APIs of Git hosts: commit statuses and pull requests on GitHub, GitLab, Gitea and Forgejo."""
