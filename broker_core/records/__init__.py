"""Record batches, the messages before them, and their compression."""
