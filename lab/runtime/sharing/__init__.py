"""What labs of classes share: the processor of one machine."""
