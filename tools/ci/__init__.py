"""What runs by itself: other processors, other versions, links, publishing."""
