"""Whose words stand in a message, and which of them the person means."""

import pytest

from config.lib.words.lexer import MASK
from memory.claims.statements import mask_parts
from memory.claims.support import list_messages
from tests.memory.claims.voice_cases import (
    BAD,
    GOOD,
    OTHERS_TUNED,
    OTHERS_UNSEEN,
    OWN_TUNED,
    OWN_UNSEEN,
    UNMEANT_TUNED,
    UNMEANT_UNSEEN,
)


def read_stated(*texts: str) -> str:
    messages = list_messages(enumerate(texts, start=1))
    return "\n".join(mask_parts(message.voices).replace(MASK, " ") for message in messages)


@pytest.mark.parametrize("texts", [*OTHERS_TUNED, *OTHERS_UNSEEN], ids=repr)
def test_words_of_others_state_nothing(texts):
    assert BAD not in read_stated(*texts)


@pytest.mark.parametrize("text", [*OWN_TUNED, *OWN_UNSEEN])
def test_the_persons_own_words_are_no_paste(text):
    assert GOOD in read_stated(text)


@pytest.mark.parametrize("text", [*UNMEANT_TUNED, *UNMEANT_UNSEEN])
def test_words_that_are_denied_supposed_or_taken_back_state_nothing(text):
    assert BAD not in read_stated(text)


def test_reasons_are_told_for_each_part():
    [message] = list_messages([(1, "I trade BTC, is it good? Suppose I rest. I use 9x. Joke!\nAnn: go")])

    reasons = [part.reason for part in message.voices.parts]

    assert reasons == ["", "asked", "supposed", "unmeant", "", "others"]
