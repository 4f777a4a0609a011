"""Replication: leaders, followers, the high watermark and the ISR."""
