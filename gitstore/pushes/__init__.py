"""Pushes by Git: what a pusher may change, the checks of what is pushed, and the words of the answer.

Begin reading at `push` for the request, and at `judging` for the verdict on each ref.
"""
