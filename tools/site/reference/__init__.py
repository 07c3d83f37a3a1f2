"""The pages to look things up: the API, the glossary and the cheat sheet."""
