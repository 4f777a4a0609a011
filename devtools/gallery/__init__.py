"""`/dev/gallery/`: every component of the lab page in fixed states, for developers and for screenshot tests."""
