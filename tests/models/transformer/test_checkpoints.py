"""The decoders of the book: valid or refused, as good as the book claims, made by recipes."""

import contextlib

import pytest
import torch
from safetensors.torch import load_file

from attnbook.models import checkpoint_files
from attnbook.models.training import Plan, evaluate, fit
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
from attnbook.models.transformer.decoder import Decoder, make_lines
from attnbook.models.transformer.grading import accuracy
from attnbook.models.vocabulary import Vocabulary
from tools.models import decoders, grade_decoders
from tools.models.checkpoints import main
from tools.models.decoders import DECODERS, DecoderRecipe, lines
from tools.models.stories import STORIES

TINY = DecoderRecipe(DecoderConfig(num_hiddens=8), Plan(epochs=1, batch_size=8), steps=(0, 1))


def make_model():
    return Decoder(Vocabulary("abc"), DecoderConfig(num_hiddens=8))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for checkpoints, with a small model in it."""
    model = make_model()
    save_decoder(tmp_path / "small.safetensors", model, {0: model.state_dict()}, {"seed": 3})
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    monkeypatch.setattr(checkpoints, "BOOK", ["small", "tiny"])
    return tmp_path


def test_a_loaded_decoder_equals_the_saved_one(folder):
    model, loaded = make_model(), book_decoder("small")
    assert loaded.config == model.config
    assert loaded.vocabulary == model.vocabulary
    assert not loaded.training
    for name, weight in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight)
    assert read_notes(folder / "small.safetensors") == {"seed": 3}


@pytest.mark.parametrize("damage", ["half", "steps", "config"])
def test_a_damaged_file_is_refused(folder, damage):
    path = folder / "small.safetensors"
    if damage == "half":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        about, weights = checkpoint_files.read_weights(path)
        about.pop(damage)
        checkpoint_files.write_weights(path, about, weights)
    with pytest.raises(ValueError, match="is not a whole checkpoint"):
        book_decoder("small")


def test_snapshots_are_copies_of_the_weights():
    model = make_model()
    snapshots = Snapshots(model, steps=(0, 2), total=4)
    for step in range(5):
        with torch.no_grad():
            model.output.weight.fill_(step)
        snapshots(step / 4, [])
    found = {
        step: weights["output.weight"].unique().item() for step, weights in snapshots.kept.items()
    }
    assert found == {0: 0, 2: 2, 4: 4}


# The book's models


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_of_the_book_matches_its_recipe(name):
    assert sorted({**DECODERS, **STORIES}) == BOOK
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
        for weight, expected in zip(first.parameters(), recipe.model().parameters(), strict=True):
            # Processors draw the same numbers but for their last digits.
            torch.testing.assert_close(weight, expected, rtol=1e-4, atol=1e-6)


def test_the_model_that_runs_in_the_page_is_small():
    assert sum(weight.numel() for weight in book_decoder("copying").parameters()) < 10_000
    assert len(decoder_steps("copying")) <= 7


def test_all_models_reach_their_targets_and_a_missed_one_is_reported(monkeypatch, capsys):
    # On the test lines and on those drawn later.
    monkeypatch.setitem(decoders.COUNTS, "test", 60)
    monkeypatch.setitem(decoders.COUNTS, "later", 60)
    assert grade_decoders.main() == 0
    printed = capsys.readouterr().out
    assert "drawn later" in printed
    assert printed.count(": True") == 2 * (3 * 5 + 1)

    monkeypatch.setattr(grade_decoders, "PREDICTED", 1.1)
    monkeypatch.setitem(decoders.COUNTS, "test", 8)
    monkeypatch.setitem(decoders.COUNTS, "later", 8)
    assert grade_decoders.main() == 1
    assert "predicts at least 1.1: False" in capsys.readouterr().out


def test_no_line_is_in_two_parts():
    texts_of = {part: {line.text for line in lines(part)} for part in decoders.COUNTS}
    for part, texts in texts_of.items():
        others = set().union(*(more for name, more in texts_of.items() if name != part))
        assert not texts & others, part


def test_the_tool_makes_a_decoder(monkeypatch, folder, capsys):
    monkeypatch.setitem(decoders.COUNTS, "learned", 16)
    monkeypatch.setattr("tools.models.checkpoints.DECODERS", {"tiny": TINY})
    assert main(["tiny"], folder) == 0
    assert "tiny: " in capsys.readouterr().out
    assert decoder_steps("tiny") == [0, 1, 2]
    assert book_decoder("tiny", 0).config == TINY.config


@pytest.mark.weekly
def test_a_tenth_of_the_training_makes_the_snapshot_that_is_in_the_book(monkeypatch):
    # Equal, bit for bit, on one kind of processor only; as good everywhere.
    class Stop:
        def __call__(self, share, _):
            if share >= 0.1:
                raise KeyboardInterrupt

    def fit_until_stopped(*arguments):
        with contextlib.suppress(KeyboardInterrupt):
            fit(*arguments)

    monkeypatch.setattr(decoders, "Bar", Stop)
    monkeypatch.setattr(decoders, "fit", fit_until_stopped)
    monkeypatch.setitem(decoders.COUNTS, "test", 300)
    model, snapshots, notes = DECODERS["copying"].make()
    stored = book_decoder("copying", 300)
    assert [*snapshots.kept] == [0, 300]
    assert notes["accuracy"] == pytest.approx(accuracy(stored, lines("test")), abs=0.02)
    batch = make_lines(model, [line.text for line in lines("judged")])
    assert evaluate(model, batch) == pytest.approx(evaluate(stored, batch), rel=0.02)
