"""What is asked: a module for each task, with its cases and right implementations."""
