"""The words: each says what it means, is found by all its names, and leads to words that there are."""

from __future__ import annotations

import re

import pytest

from fstui.report import glossary

WORDS = glossary.words()


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_explained_in_plain_sentences(name: str) -> None:
    word = WORDS[name]
    assert not set("`*#|[]") & set(word.text)
    assert 3 < len(word.first) <= len(word.text) and word.first.endswith(".")


def test_each_leads_to_words_that_there_are() -> None:
    assert [see for word in WORDS.values() for see in word.see if see not in WORDS] == []


def test_no_name_stands_for_two_words() -> None:
    names = [re.sub(r"[\s_-]+", "-", name.lower()) for word in WORDS for name in {word, *WORDS[word].also}]
    found = {name: glossary.find(name) for name in names}
    for word, of in WORDS.items():
        assert {found[re.sub(r"[\s_-]+", "-", name.lower())] for name in (word, *of.also)} == {word}


@pytest.mark.parametrize(
    ("name", "word"),
    [("flush", "flush"), ("FUA", "fua"), ("write cache", "write-cache"), ("owed", "expected-flushes"),
     ("O_DSYNC", "o_dsync"), ("PLP", "protection"), ("libeatmydata", "eatmydata"), ("nothing-of-the-kind", None)],
)  # fmt: skip
def test_it_is_found_however_it_is_written(name: str, word: str | None) -> None:
    assert glossary.find(name) == word


def test_a_text_tells_its_words_whole_words_only() -> None:
    assert glossary.standing_in("Each fdatasync is owed a flush; walls and tornados are none.") == (
        "fdatasync",
        "flush",
        "expected-flushes",
    )
    assert [glossary.titled(name) for name in ("write-cache", "fua", "o_direct", "wal")] == [
        "write cache",
        "FUA",
        "O_DIRECT",
        "WAL",
    ]
