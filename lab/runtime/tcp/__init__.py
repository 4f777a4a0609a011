"""The TCP ports of a branch's brokers."""
