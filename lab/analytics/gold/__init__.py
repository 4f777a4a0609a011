"""Gold: tables for charts, pages and reports, made only from silver."""
