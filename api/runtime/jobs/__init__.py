"""Work outside the event loop: in threads, in job processes, and by background services.

Begin reading at `background`.
"""
