"""The background of one worker: threads and processes, release loading, long polls and periodic tasks.

Begin with `background` (work off the event loop) and `release_loader`.
"""
