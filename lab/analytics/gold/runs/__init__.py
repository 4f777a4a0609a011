"""Tables of runs: few rows per branch, each with the instant to which a click leads."""
