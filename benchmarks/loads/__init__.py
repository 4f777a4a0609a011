"""What benches work on: recordings, a recorded class, and the load of a cluster."""
