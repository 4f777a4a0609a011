"""What it costs: one bench a file, each with a command line that prints JSON. `python -m benchmarks` runs all."""
