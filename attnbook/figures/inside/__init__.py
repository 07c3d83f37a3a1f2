"""The reader's attention inside the story model."""
