"""What Spark finds in a recording: a worker process with one JVM, pure transforms, and the figures of the page."""
