"""Train and grade the models that the book uses."""
