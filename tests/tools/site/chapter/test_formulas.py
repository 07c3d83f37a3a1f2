"""Formulas that are set while the book is built."""

from __future__ import annotations

import pytest

from tools.site.chapter.formulas import FormulaError, typeset


def test_a_wrong_formula_is_refused_with_its_reason_and_the_next_one_is_typeset():
    with pytest.raises(FormulaError, match=r"\\fracc"):
        typeset(r"\fracc{1}{2}", display=False)
    assert "<math" in typeset("x", display=False)
