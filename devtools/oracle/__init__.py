"""Truth from outside: recordings of real brokers, and runners that hold the core against them."""
