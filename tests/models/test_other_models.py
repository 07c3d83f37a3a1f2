"""The grades of models that the book reports but does not include."""

import json

import pytest
import torch

from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.grading import exact_match, grade, looked
from tests.models.translator.test_checkpoints import TINY
from tools.models import other_models as tool
from tools.models.checkpoints import RECIPES

STORED = json.loads(tool.FILE.read_text("utf-8"))
TRANSLATORS = STORED["translators by seed"]


def test_the_file_has_three_seeds_of_both_encoders_and_its_origin():
    assert {name: [*seeds] for name, seeds in TRANSLATORS.items()} == {
        "convolutional": ["0", "1", "2"],
        "recurrent": ["0", "1", "2"],
    }
    assert STORED["origin"]["command"] == "python -m tools.models.other_models"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TRANSLATORS)
def test_the_grades_of_seed_0_are_those_of_the_book(name):
    dates, stored = RECIPES[name].dates().test, TRANSLATORS[name]["0"]
    outputs = book_model(name).double().translate([date.text for date in dates])
    assert exact_match(dates, outputs) == stored["exact match"]
    for field, one in grade(dates, looked(outputs)).items():
        assert one.weight == pytest.approx(stored["weight inside"][field], abs=1e-3)
        assert one.peak == pytest.approx(stored["peaks inside"][field], abs=1e-3)


def test_a_seed_changes_the_weights_and_not_the_dates(monkeypatch):
    monkeypatch.setattr(tool, "RECIPES", {"tiny": TINY})
    one, other = (tool.train_seed("tiny", seed) for seed in (1, 2))
    assert one.source.characters == other.source.characters
    assert not torch.equal(one.output.weight, other.output.weight)


def test_the_command_writes_the_grades_and_their_origin(monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "FILE", tmp_path / "grades.json")
    monkeypatch.setattr(tool, "RECIPES", {"small": TINY})
    monkeypatch.setattr(tool, "TRANSLATORS", ("small",))
    monkeypatch.setattr(tool, "SEEDS", (1,))
    assert tool.main() == 0
    written = json.loads(tool.FILE.read_text("utf-8"))
    assert written["origin"].keys() == STORED["origin"].keys()
    assert written["translators by seed"]["small"].keys() == {"0", "1"}
    assert (
        written["translators by seed"]["small"]["0"].keys() == TRANSLATORS["recurrent"]["0"].keys()
    )
