"""The weekly check of outside links: which responses are reported, with a local server."""

from __future__ import annotations

import pytest

from tools.ci.links import describe, has_moved, is_broken, report

LINK = {"filename": "chapters/a.md", "lineno": 7, "uri": "https://example.org/a"}


def respond(status, code=0, info=""):
    return {**LINK, "status": status, "code": code, "info": info}


GONE = respond("broken", info="404 Client Error: Not Found for url: https://example.org/a")
MOVED = respond("redirected", 301, "https://example.org/b")


@pytest.mark.parametrize(
    "response",
    [
        respond("working"),
        respond("redirected", 302, "https://example.org/today"),
        respond("timeout", info="read timeout=30"),
        respond("broken", info="403 Client Error: Forbidden for url: https://example.org/a"),
    ],
    ids=lambda each: each["status"],
)
def test_a_link_that_works_or_a_server_that_turns_robots_away_is_not_reported(response):
    assert not is_broken(response)
    assert not has_moved(response)
    assert report([response]) == ""


def test_a_link_that_leads_nowhere_or_has_moved_is_named_with_its_position():
    reported = report([GONE, respond("working"), MOVED])
    assert reported.splitlines() == [describe(GONE), describe(MOVED)]
    assert describe(GONE).startswith("- `chapters/a.md:7` <https://example.org/a>: 404 Client")
    assert describe(MOVED).endswith("moved to https://example.org/b")
