"""The entry to the content: `Store`, with a component for each subject.

`store.drafts`, `store.publishes`, `store.proposals`, `store.revisions`, `store.projects` and `store.namespaces` hold its methods. Begin with
`store`.
"""
