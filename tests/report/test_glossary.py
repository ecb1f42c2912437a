import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fstui
from fstui.report import glossary
from fstui.tui.drawing import storage

PACKAGE = Path(fstui.__file__).parent
WORDS = glossary.entries()


def test_terms_are_explained_in_plain_sentences() -> None:
    texts = {name: word.text.strip() for name, word in WORDS.items()}
    assert [name for name, text in texts.items() if set("`*#|[]") & set(text) or not text.endswith(".")] == []


def test_terms_link_to_terms_that_exist() -> None:
    assert [see for word in WORDS.values() for see in word.see if see not in WORDS] == []


def test_no_name_belongs_to_two_terms() -> None:
    names = [re.sub(r"[\s_-]+", "-", name.lower()) for word in WORDS for name in {word, *WORDS[word].also}]
    found = {name: glossary.find(name) for name in names}
    for word, of in WORDS.items():
        assert {found[re.sub(r"[\s_-]+", "-", name.lower())] for name in (word, *of.also)} == {word}


@pytest.mark.parametrize(
    ("name", "word"),
    [("flush", "flush"), ("FUA", "fua"), ("write cache", "write-cache"), ("FLUSH/SYNC", "expected-flushes"),
     ("medium", "storage-medium"), ("expected", "expected-flushes"),
     ("FLUSH/S", "device-columns"), ("CPU WAIT ≤", "cpu-wait"),
     ("O_DSYNC", "o_dsync"), ("PLP", "protection"), ("libeatmydata", "eatmydata"), ("nothing-of-the-kind", None)],
)  # fmt: skip
def test_term_is_found_in_any_spelling(name: str, word: str | None) -> None:
    assert glossary.find(name) == word


def test_heads_of_columns_are_explained_but_no_words_of_a_text() -> None:
    heads = [column.title for column in storage.COLUMNS if re.match(".*_AWAIT|.*/S$|BUSY", column.title)]
    assert len(heads) == 7 and {glossary.find(head) for head in heads} == {"device-columns"}
    assert glossary.terms_in("While the disk is busy, a write waits.") == ()


def heads(tree: ast.Module) -> Iterator[str]:
    """Return the title of each Column, and the texts of each tuple that is a header: all in capitals, or called so."""
    for node in ast.walk(tree):
        parts = node.elts if isinstance(node, ast.Tuple) else []
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if len(list(filter(str.isalpha, "".join(texts)))) > 1 and all(text.upper() == text for text in texts):
            yield from filter(str.strip, texts)
        match node:
            case ast.Assign(targets=[ast.Name(id="_HEADER" | "header")], value=ast.Tuple(elts=named)):
                yield from (str(part.value) for part in named if isinstance(part, ast.Constant))
            case ast.Call(func=ast.Name(id="Column"), args=[ast.Constant(value=str(title)), *_]) if title:
                yield title


MODULES = [path for place in ("report", "fleet", "tui") for path in sorted(PACKAGE.joinpath(place).rglob("*.py"))]


def test_every_head_of_a_table_is_explained() -> None:
    found = {head for path in MODULES for head in heads(ast.parse(path.read_text()))}
    assert len(found) > 120 and [head for head in found if head and not glossary.find(head)] == []
    assert glossary.find("note") == "finding-columns"


def test_terms_of_a_text_are_whole_words() -> None:
    found = glossary.terms_in("For each fdatasync one flush is expected, with medium confidence; walls are no terms.")
    assert found == ("fdatasync", "flush")


def test_columns_of_a_screen_are_found_by_their_whole_title() -> None:
    assert glossary.columns_in("READ/S  FLUSH TIME   a note") == ("device-columns",)
    assert glossary.columns_in("QUESTION    TIME") == ("run-columns",)


def test_titles_are_spelled_as_in_a_text() -> None:
    titles = [glossary.spelling(name) for name in ("write-cache", "fua", "o_direct", "wal")]
    assert titles == ["write cache", "FUA", "O_DIRECT", "WAL"]
