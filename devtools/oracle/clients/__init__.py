"""Third-party clients on a Highwater cluster, as run by `make conformance`."""
