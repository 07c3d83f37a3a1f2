"""A question that the reader answers before the page does."""
