"""What the console producer and consumer share: options, formatters, transactions."""
