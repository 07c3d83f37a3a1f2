"""A question that the reader answers before the page shows the answer."""
