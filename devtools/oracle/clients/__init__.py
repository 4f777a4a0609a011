"""Third-party clients on a cluster of ours, as run by `make conformance`."""
