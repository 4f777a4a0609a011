"""Running labs: engines in threads, their clocks, their pages and their ports."""
