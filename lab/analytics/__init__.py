"""Analytics of recordings with Spark: a worker process with one JVM, pure transforms, and the figures of the page."""
