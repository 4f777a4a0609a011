"""The embedded ZooKeeper server and the stores and clients that reach it through kazoo."""
