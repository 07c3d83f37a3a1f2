"""What a line never ends within: a formula and its comma, a minus and its name in code."""

from __future__ import annotations

import re
from typing import Any

from tools.site.page_tree import change_body

END = "<!--formula-->"  # `formulas.visit_inline` writes it, for this module alone
BASE = re.compile(r'(?<=</span>)(?=<span class="base">)')  # between the parts of a formula
TOGETHER = re.compile(
    rf'[^\s<>]*<span class="math">(?:(?!{END}).)*{END}[^\s<]*'  # with what touches it
    r'|(?<=<span class="pre">)(?:[^<]*[^<\w)\]])?-\w[^<]*'
    r'|<span class="o">-</span>(?:<span class="\w+">[\w.]+</span>)+',
    re.DOTALL,
)


def keep_together(context: dict[str, Any]) -> None:
    """Put such pairs into elements in which no line ends; a long formula still breaks in itself."""

    def join(parts: re.Match[str]) -> str:
        return f'<span class="attnbook-joined">{BASE.sub("<wbr>", parts[0])}</span>'

    change_body(context, lambda body: TOGETHER.sub(join, body).replace(END, ""))
