"""What is trained: a loop, and models with their data, their checkpoints and their grades."""
