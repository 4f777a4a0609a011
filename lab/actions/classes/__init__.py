"""What people do to a class from outside of it: give one, open its door, come in, and look after who is in."""
