"""Reviews of drafts: comments, approvals, rejections, and the status of a review.

Begin with `reviewing`; `review` computes the status.
"""
