"""Reference data from real brokers, and the runners that compare the core with it."""
