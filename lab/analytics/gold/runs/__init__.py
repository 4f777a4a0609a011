"""What happened in a run: few rows for each branch, each with the instant that a click leads to."""
