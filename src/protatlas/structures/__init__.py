"""Structures: stored coordinates, the pictures drawn of them, and the page that turns them in a client."""
