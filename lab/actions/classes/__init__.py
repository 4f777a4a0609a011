"""Actions on a class from outside: start it, open its door, join, and manage participants."""
