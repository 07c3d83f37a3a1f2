"""The decoders of the book: whole or refused, as good as the book says, made again."""

import pytest
import torch
from safetensors.torch import load_file

from attnbook.models import files
from attnbook.models.training import Plan
from attnbook.models.transformer import checkpoints
from attnbook.models.transformer.checkpoints import (
    BOOK,
    FOLDER,
    Snapshots,
    book_decoder,
    decoder_steps,
    read_notes,
    save_decoder,
)
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.transformer.grading import accuracy
from attnbook.models.vocabulary import Vocabulary
from tools.models import decoders, grade_decoders
from tools.models.checkpoints import main
from tools.models.decoders import DECODERS, DecoderRecipe, lines

TINY = DecoderRecipe(DecoderConfig(num_hiddens=8), Plan(epochs=1, batch_size=8), steps=(0, 1))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of one's own, with a small model in it."""
    model = Decoder(Vocabulary("abc"), DecoderConfig(num_hiddens=8))
    save_decoder(tmp_path / "small.safetensors", model, {0: model.state_dict()}, {"seed": 3})
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    monkeypatch.setattr(checkpoints, "BOOK", ["small"])
    return tmp_path


def test_what_is_saved_is_what_is_loaded(home):
    model = Decoder(Vocabulary("abc"), DecoderConfig(num_hiddens=8))
    loaded = book_decoder("small")
    assert loaded.config == model.config
    assert loaded.vocabulary == model.vocabulary
    assert not loaded.training
    for name, weight in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight)
    assert read_notes(home / "small.safetensors") == {"seed": 3}


@pytest.mark.parametrize("damage", ["half", "steps", "characters", "config"])
def test_a_damaged_file_is_refused(home, damage):
    path = home / "small.safetensors"
    if damage == "half":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        about, weights = files.read_weights(path)
        about.pop(damage)
        files.write_weights(path, about, weights)
    with pytest.raises(ValueError, match="is not a whole checkpoint"):
        book_decoder("small")


def test_nothing_is_written_without_snapshots(home):
    with pytest.raises(ValueError, match="at least one step"):
        save_decoder(home / "new.safetensors", book_decoder("small"), {})
    assert not (home / "new.safetensors").exists()


def test_an_unknown_model_or_step_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of copying, .*got 'big'"):
        book_decoder("big")
    with pytest.raises(ValueError, match=r"step must be one of 0, 300, .*3000, got 1"):
        book_decoder("copying", step=1)


def test_snapshots_are_copies_of_what_the_model_was():
    model = Decoder(Vocabulary("abc"), DecoderConfig(num_hiddens=8))
    snapshots = Snapshots(model, steps=(0, 2), total=4)
    for step in range(5):
        with torch.no_grad():
            model.output.weight.fill_(step)
        snapshots(step / 4, [])
    assert [*snapshots.kept] == [0, 2, 4]
    assert [kept["output.weight"].unique().item() for kept in snapshots.kept.values()] == [0, 2, 4]


# The book's models


def test_there_is_a_recipe_for_every_decoder_of_the_book():
    assert sorted(DECODERS) == BOOK


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_of_the_book_is_what_its_recipe_says(name):
    recipe, model = DECODERS[name], book_decoder(name)
    path = FOLDER / f"{name}.safetensors"
    notes = read_notes(path)
    assert model.config == recipe.config
    assert notes["seed"] == recipe.plan.seed
    assert decoder_steps(name) == [*recipe.steps, 3000]
    assert abs(accuracy(model, lines("test")[:300]) - notes["accuracy"]) < 0.02
    assert {weight.dtype for weight in load_file(path).values()} == {torch.float32}
    if 0 in recipe.steps:
        first = book_decoder(name, 0)
        for weight, drawn in zip(first.parameters(), recipe.model().parameters(), strict=True):
            assert torch.equal(weight, drawn)


def test_the_model_that_runs_in_the_page_is_small():
    assert sum(weight.numel() for weight in book_decoder("copying").parameters()) < 10_000
    assert len(decoder_steps("copying")) <= 7


@pytest.mark.slow
def test_the_grades_say_what_the_book_says(capsys):
    # Fails if a model misses a target, on the lines never seen or on those drawn later.
    assert grade_decoders.main() == 0
    told = capsys.readouterr().out
    assert "drawn later" in told
    assert told.count(": True") == 2 * (3 * 5 + 1)


def test_a_model_that_misses_its_targets_fails(monkeypatch, capsys):
    monkeypatch.setattr(grade_decoders, "FORESEEN", 0.9999)
    monkeypatch.setitem(decoders.COUNTS, "test", 100)
    monkeypatch.setitem(decoders.COUNTS, "later", 100)
    assert grade_decoders.main() == 1
    assert "foresees at least 0.9999: False" in capsys.readouterr().out


def test_lines_are_never_of_two_parts():
    drawn = {part: {line.text for line in lines(part)} for part in decoders.COUNTS}
    for part, texts in drawn.items():
        others = set().union(*(more for name, more in drawn.items() if name != part))
        assert not texts & others, part


def test_the_tool_makes_a_decoder(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(decoders.COUNTS, "learned", 16)
    monkeypatch.setattr("tools.models.checkpoints.DECODERS", {"tiny": TINY})
    assert main(["tiny"], tmp_path) == 0
    assert "tiny: " in capsys.readouterr().out
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    monkeypatch.setattr(checkpoints, "BOOK", ["tiny"])
    assert decoder_steps("tiny") == [0, 1, 2]
    assert book_decoder("tiny", 0).config == TINY.config


@pytest.mark.slow
def test_the_one_layer_made_again_is_the_one_in_the_book(tmp_path):
    # Equal, bit for bit, on one kind of processor only; equally good everywhere.
    torch.set_num_threads(1)
    notes = DECODERS["copying-one-layer"].write(tmp_path / "again.safetensors")
    stored = read_notes(FOLDER / "copying-one-layer.safetensors")
    assert abs(notes["accuracy"] - stored["accuracy"]) < 0.1
