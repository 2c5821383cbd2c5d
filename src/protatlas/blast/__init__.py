"""Sequence searches: what is searched (`targets`, `databases`), by what (`search`), and as which jobs (`jobs`)."""
