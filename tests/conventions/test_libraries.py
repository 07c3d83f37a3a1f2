"""The fingerprint of each library is what its own source says."""

import pytest

from attnbook import fingerprint
from tests.conventions.libraries import LIBRARIES


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("ignore")  # the libraries' own
def test_the_fingerprint_is_what_the_source_says(name):
    library = LIBRARIES[name]
    pytest.importorskip(library.needs)
    assert fingerprint(library.make(), name=name).answers == library.expected
