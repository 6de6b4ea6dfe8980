import pytest

from config.lib.words.clauses import Forms

FORMS = Forms("""
day: ^ never ... DAY $
own: ^ i do? not what( !me ... ) $
much: risk .? NUMBER / NUMBER %
change: set|make old( ... ) to new( ... ) now? $ / set old( ... ) down
known: ^ !-ing|-ed|i my
none: ^ trade !!DAY
some: ^ trade &&DAY
""")


@pytest.mark.parametrize(
    ("row", "text", "is_met"),
    [
        ("day", "Never on Fridays", True),
        ("day", "never at the weekend", True),
        ("day", "Never on Fridays or so", False),
        ("day", "I never trade on Fridays", False),
        ("own", "I don’t hedge", True),
        ("own", "I do not hedge", True),
        ("own", "I dont me", False),
        ("much", "I risk 2", True),
        ("much", "risk about 2", True),
        ("much", "risk no more than 2", False),
        ("known", "Show my trades", True),
        ("known", "Showing my trades", False),
        ("known", "I my trades", False),
        ("none", "trade BTC", True),
        ("none", "trade BTC on Friday", False),
        ("none", "", False),
        ("some", "trade BTC on Friday", True),
        ("some", "trade BTC", False),
    ],
)
def test_row_is_met_by_the_texts_of_one_of_its_forms(row, text, is_met):
    assert (row in FORMS.read(text)) is is_met


def test_named_terms_give_their_texts_as_written():
    assert FORMS.read("Please set my  Stop to 2.5 % now").find("change") == {"old": "my  Stop", "new": "2.5 %"}
    assert FORMS.read("set down").find("change") == {"old": ""}
    assert FORMS.read("Please do").find("change") is None


@pytest.mark.parametrize("text", ["\x01\x02", "I \x01never\x02", "﷽" * 50, "i don't " * 2_000])
def test_any_text_is_read(text):
    assert "day" not in FORMS.read(text)
