"""Events and who is to learn of them: webhooks, and the deliveries that are due.

Begin with `events`.
"""
