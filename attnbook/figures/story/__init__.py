"""A story and a question, a small Transformer's answer, and where it looked."""
