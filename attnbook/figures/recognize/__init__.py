"""Numbers that a reader pastes, and the bug that gives them."""
