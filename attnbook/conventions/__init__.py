"""Which conventions an attention function follows, from the numbers that it gives.

`caller` calls any function in one way, `libraries` and `finding` find out how; `subject` makes
calls whose scores are known; `scores`, `masks`, `hidden` and `precision` have one function for each
property, and `fingerprint` asks them all.
"""

from attnbook.conventions.fingerprint import Fingerprint, fingerprint
from attnbook.conventions.subject import Finding

__all__ = ["Finding", "Fingerprint", "fingerprint"]
