"""What clients that are no part of this project do with a cluster of ours, as `make conformance` runs them."""
