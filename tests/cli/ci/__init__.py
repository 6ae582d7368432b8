"""Tests of what content repositories run in CI: the action, the component, the hooks and the comment."""
