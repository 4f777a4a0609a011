"""Gold: what a chart, a page or a report shows, made of silver alone."""
