"""What the pages of this book have beyond their theme: a Sphinx extension and its rooms."""

from attnbook.messages import Messages

TEXT = Messages(__file__)  # the sentences of all rooms and of the scripts
