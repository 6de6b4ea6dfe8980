"""The vocabulary is one: a word that is added is known to every reader."""

import ast
import functools
import re
import sys
from collections import Counter

import pytest

from config.lib.words import vocabulary
from config.lib.words.compile import Refusal, compile_rule
from config.lib.words.rules import Leverage
from memory.claims.judge import judge_change
from memory.claims.support import TypedMessage, find_support
from memory.claims.topics import guess_topic
from tests.source import PROJECT, ROOT, modules, walk
from trading.asking.words import read_words
from trading.skills.reading import read_draft

NEW = "zenith"  # a maximum that nobody says


def forget_readings() -> None:
    """Clear what readers keep of texts and of the vocabulary."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in PROJECT]
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, functools._lru_cache_wrapper):
            value.cache_clear()


@pytest.fixture
def learned(tmp_path, monkeypatch):
    """A vocabulary with two more words: a maximum and a denial."""
    path = tmp_path / "vocabulary.txt"
    path.write_text(f"{vocabulary._FILE.read_text(encoding='utf-8')}\n{NEW}: MAX\nnixnever: NOT\nzorkcoin: COIN=ZORK\n")
    monkeypatch.setattr(vocabulary, "_FILE", path)
    forget_readings()
    yield
    monkeypatch.undo()
    forget_readings()


def ask_all() -> dict[str, bool]:
    """Return which readers know the new words."""
    rule = compile_rule(f"My leverage {NEW} is 3x", zone="UTC")
    strategy = {"strategy": {"entry": "Buy above the 20-bar high", "exit": "Stop 2%", "avoid": ["Nixnever on Fridays"]}}
    return {
        "rules": not isinstance(rule, Refusal) and rule == Leverage(limit=rule.limit),
        "subjects": judge_change("Max leverage is 5x", f"3x leverage is my {NEW}") == "replaces",
        "support": find_support("Max leverage 3x", [TypedMessage(1, f"My leverage {NEW} is 3x")], is_exact=True)
        is not None,
        "questions": read_words("What did I make on zorkcoin?").symbols == ["ZORK"],
        "strategies": all(not line.problem for line in read_draft(strategy).lines),
        "topics": guess_topic("zorkcoin for me") == "symbols",
    }


def test_word_added_once_is_known_to_every_reader(learned):
    assert ask_all() == dict.fromkeys(ask_all(), True)


def test_word_that_was_not_added_is_known_to_none():
    assert ask_all() == dict.fromkeys(ask_all(), False)


def test_every_entry_stands_once_with_its_concepts():
    lines = [line for line in vocabulary._FILE.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    phrases = [line.partition(": ")[0] for line in lines]

    assert [line for line in lines if ": " not in line or len(line) > 160] == []
    assert [phrase for phrase, count in Counter(phrases).items() if count > 1] == []


# Concepts that several packages read, because they mean the same to each. A package that needs a meaning of its own
# takes a name of its own: "back above" of strategies and "I take it back" of memory were one concept once.
SHARED = frozenset(
    """
    ACCOUNT ADVERB AFTER AGREE AND AROUND ASKING ATR BE BEFORE BETWEEN BY CALENDAR COIN CORRECTS DAY DAYOF EMA EVENT
    EXCEPT FILLER FOR FORDAY FORGET FORGETNOUN FORGETTING FROM GONE HEDGE HIGH IN INROW INSIDE INTRODUCING LANGUAGE
    LEADIN LEVERAGE LOCATION LOSE MARKETS MAX MIN MONTH NAMED NOT NUMBER ONELOSS ONLY OR OUTSIDE OVER PAUSE PERDAY
    PERMONTH PERTRADE PERWEEK REMEMBERING REPLY RISK SELF SIDE SPAN SPLITFORGET STOP STOPLOSS STYLE TIME TO TRADE
    UNDER UNIT UNTOLD UNTRUE WHEN WISHING WITHIN WITHOUT ZONE
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)


def list_readers() -> dict[str, set[str]]:
    """Return the packages whose tables and calls name each concept of the vocabulary."""
    concepts = {meaning.concept for entry in vocabulary.get_vocabulary().meanings.values() for meaning in entry}
    tables = [path for package in PROJECT for path in (ROOT / package).rglob("*.forms")]
    texts = [(str(path.relative_to(ROOT)), path.read_text()) for path in tables]
    for name, tree in modules().items():
        strings = [node.value for node in walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        imported = [node.module or "" for node in walk(tree) if isinstance(node, ast.ImportFrom)]
        if any(module.startswith("config.lib.words") for module in [name, *imported]):
            texts.append((name.replace(".", "/"), " ".join(strings)))
    readers: dict[str, set[str]] = {concept: set() for concept in concepts}
    for name, text in texts:
        for concept in concepts & set(re.findall(r"\b[A-Z]{2,}\b", text)):
            readers[concept].add("/".join(name.split("/")[: 1 if name.startswith("offline/") else 2]))
    return readers


def test_each_concept_has_one_reader_or_one_meaning():
    readers = list_readers()

    unread = [concept for concept, packages in readers.items() if not packages]
    assert not unread, f"no reader names {unread}: name them in one, or take them out of vocabulary.txt"
    found = {concept: sorted(found) for concept, found in readers.items() if len(found) > 1 and concept not in SHARED}
    assert not found, (
        f"several packages read {found}: add the concept to SHARED if it means the same to each; else take a concept"
        " of your own, whose name no other reader has, in vocabulary.txt"
    )
