"""What is added to recorded classes, and recorded lessons."""
