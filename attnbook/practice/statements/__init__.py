"""What the statement of a task says of its cases."""
