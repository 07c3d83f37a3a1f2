"""What the pages of this book have beyond their theme: a Sphinx extension and its parts."""
