"""Recordings of runs: the logs of events and inputs, keyframes, checkpoints and forks."""
