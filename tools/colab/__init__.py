"""Chapters as notebooks for Colab: `builder` writes them with an install cell, others test them."""
