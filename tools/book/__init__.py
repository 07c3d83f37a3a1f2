"""Execute the chapters, build the book, serve it."""
