"""Public services that the operator opted in to: how they are asked, and what keeps protatlas polite."""
