"""Replication: what a leader does, what a follower does, and how the high watermark and the ISR come about."""
