"""Known bugs, a module for each task."""
