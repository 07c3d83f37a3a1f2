"""Misspelt, replaced and American words are found; exceptions must be needed."""

from tools.ci.words import Allowed, Finding, cells_in, findings, problems


def words_in(folder, name, text):
    (folder / name).write_text(text, "utf-8")
    return [(found.word, found.line) for found in findings(folder, [name])]


def test_misspelt_and_replaced_words_are_found_and_american_ones_in_prose_only(tmp_path):
    code = "told_by = 1\nallTold = 2\nTOLD = 3\nuntold = toldest = 4\ncolor = 5\n# It stands.\n"
    words = [("told", 1), ("Told", 2), ("TOLD", 3), ("stands", 6)]
    assert words_in(tmp_path, "code.py", code) == words
    assert words_in(tmp_path, "page.md", "The color.\nteh end\n") == [("teh", 2), ("color", 1)]


def test_only_the_cells_of_a_notebook_are_read(tmp_path):
    cells_in(tmp_path, ["chapters/welcome.ipynb"])
    text = (tmp_path / "chapters" / "welcome.ipynb").read_text("utf-8")
    assert text.startswith("# ")
    assert "execution_count" not in text


def test_an_exception_allows_its_words_in_its_files_and_must_be_needed():
    found = [Finding("tests/a.py", 3, "Teh", "the"), Finding("tools/b.py", 4, "teh", "the")]
    rule = Allowed("tests/*", ["teh", "fro"], "Written on purpose.")
    assert problems(found, [rule]) == [
        "tools/b.py:4: teh → the",
        "tools/ci/words/exceptions.toml: 'fro' in tests/* is not needed",
    ]
