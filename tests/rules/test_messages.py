"""The messages that users read, over everything that the corpus makes the analyzer say."""

from __future__ import annotations

import re
from functools import cache

from tests.conformance.corpus import FOLDER
from tests.rules.examples import ROOT, check_folder

LONGEST = 300
#: What only Python writes.
ARTEFACTS = re.compile(
    r"object at 0x|dict_(?:keys|values|items)|frozenset\(|<class|Decimal\(|datetime\.|timedelta|Traceback|"
    r"\b[A-Z][A-Za-z]+Error\b|\\x[0-9a-f]{2}|(?<!`)\b(?:None|True|False)\b"
)
CODE = re.compile(r"`[^`]*`")


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """Each message once, with a place where it is said."""
    found: dict[str, str] = {}
    for finding in check_folder(FOLDER / "err"):
        found.setdefault(
            finding.message, f"{finding.path.rpartition('/')[2]}:{finding.range.start_line} {finding.rule}"
        )
    return tuple((place, message) for message, place in found.items())


@cache
def notes() -> tuple[str, ...]:
    """The texts of related places and the titles of fixes."""
    found: dict[str, None] = {}
    for finding in check_folder(FOLDER / "err"):
        found.update(dict.fromkeys(related.message for related in finding.related))
        found.update(dict.fromkeys(fix.title for fix in finding.fixes))
    return tuple(found)


def test_a_message_is_a_sentence() -> None:
    assert len(messages()) > 200
    wrong = [f"{place}: {text}" for place, text in messages() if text[-1] not in ".?`" or text[0].islower()]
    assert wrong == []


def test_a_message_is_short_and_on_one_line() -> None:
    assert [f"{place}: {text}" for place, text in messages() if len(text) > LONGEST or "\n" in text] == []
    assert [text for text in notes() if not text or len(text) > LONGEST or "\n" in text] == []


def test_nothing_shows_how_it_is_made() -> None:
    said = [*(text for _, text in messages()), *notes()]
    assert [text for text in said if ARTEFACTS.search(CODE.sub("``", text)) or "object at 0x" in text] == []


def test_no_message_has_a_path_of_the_machine() -> None:
    said = [*(text for _, text in messages()), *notes()]
    assert [
        text for text in said if str(ROOT) in text or re.search(r"(?<![\w/])/(?:tmp|home|work|usr|Users)/", text)
    ] == []


def test_backticks_are_closed() -> None:
    assert [f"{place}: {text}" for place, text in messages() if text.count("`") % 2] == []
