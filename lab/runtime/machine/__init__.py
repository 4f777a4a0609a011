"""What this machine gives the process: descriptors, memory, disk space, Java."""
