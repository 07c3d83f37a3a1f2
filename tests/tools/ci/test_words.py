"""Misspelt, replaced and American words are found; exceptions must be needed."""

from tools.ci.words import Allowed, Finding, cells_in, findings, problems


def words_in(folder, name, text):
    (folder / name).write_text(text, "utf-8")
    return [(found.word, found.line) for found in findings(folder, [name])]


def test_a_replaced_word_is_found_within_names_and_in_sentences(tmp_path):
    code = "told_by = 1\nallTold = 2\nTOLD = 3\nuntold = toldest = 4\n# It stands here.\n"
    assert words_in(tmp_path, "code.py", code) == [
        ("told", 1),
        ("Told", 2),
        ("TOLD", 3),
        ("stands", 5),
    ]


def test_american_spelling_is_found_in_prose_and_stays_in_names(tmp_path):
    assert words_in(tmp_path, "page.md", "The color.\n") == [("color", 1)]
    assert words_in(tmp_path, "code.py", "color = 1\n") == []


def test_a_misspelt_word_is_found_everywhere(tmp_path):
    for name in ("code.js", "page.md"):
        assert words_in(tmp_path, name, "teh end\n") == [("teh", 1)]


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
