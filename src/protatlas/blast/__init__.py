"""BLAST searches: the report they give, and who computes it."""
