import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.words.vocabulary import list_words
from tests.trading.skills.reading_cases import TUNED, UNSEEN, Case
from trading.demo import _BREAKOUT, _BREAKOUT_AGAIN, _FUNDING
from trading.skills.conditions import _load_grammar
from trading.skills.patches import merge_patch
from trading.skills.reading import read_draft
from trading.skills.templates import TEMPLATES

BOTH_SIDES = "Long above the 20-bar high. Short below the 20-bar low."
FADING = "Buy a close below the 20-bar low. Sell short a close above the 20-bar high."
PARTS = {"entry": "Entry", "exit": "Exit", "risk": "Risk management", "avoid": "Avoid"}
FIELDS = {"risk": "risk_management"}


def read(style="mixed", interval="4h", higher=("1d",), **strategy):
    context = {"bars_interval": interval, "higher_timeframes": list(higher)}
    return read_draft({"strategy": {"style": style, **strategy}, "context": context})


def terms_of(case: Case) -> tuple[str, ...]:
    """Return the terms of the line alone; none if any of it is not understood."""
    entry = FADING if case.style == "range" else BOTH_SIDES
    line = [case.text] if case.part == "avoid" else case.text
    found = read(case.style, **{"entry": entry, FIELDS.get(case.part, case.part): line})
    lines = [one for one in found.lines if one.part == PARTS[case.part]]
    return () if any(one.problem for one in lines) else tuple(str(term) for one in lines for term in one.terms)


@pytest.mark.parametrize("case", [*TUNED, *UNSEEN], ids=lambda case: case.text)
def test_line_is_read_as_a_person_reads_it_or_not_at_all(case):
    assert terms_of(case) in {case.meaning, ()}


@pytest.mark.parametrize("cases", [TUNED, UNSEEN], ids=["tuned", "unseen"])
def test_most_lines_with_a_meaning_are_read(cases):
    meant = [case for case in cases if case.meaning]

    assert sum(terms_of(case) == case.meaning for case in meant) >= 0.9 * len(meant)


def test_each_line_of_the_shipped_skills_is_understood():
    for payload in (
        *TEMPLATES.values(),
        merge_patch(merge_patch(TEMPLATES["trend_breakout"], _BREAKOUT), _BREAKOUT_AGAIN),
        merge_patch(TEMPLATES["funding_mean_reversion"], _FUNDING),
    ):
        reading = read_draft(payload)

        assert [line.problem for line in reading.lines if line.problem] == []
        assert reading.problem == ""
        assert {rule.side for rule in reading.list_rules("entry")} == {"long", "short"}


def test_reading_tells_why_no_position_is_opened():
    for strategy, problem in (
        ({}, "No line under Entry is understood."),
        ({"entry": "Never open a position.", "exit": "After 3 bars"}, "The strategy says never to open a position."),
        ({"entry": "Buy on hope."}, "A line under Entry is not understood: “Buy on hope”."),
        (
            {"entry": f"{BOTH_SIDES} Only when it rains.", "exit": "After 3 bars"},
            "A line under Entry is not understood: “Only when it rains”.",
        ),
        ({"entry": BOTH_SIDES}, "No line under Exit is understood."),
        ({"entry": BOTH_SIDES, "exit": "When it stalls."}, "No line under Exit is understood."),
        ({"entry": BOTH_SIDES, "risk_management": "Stop at 2 %"}, ""),
        ({"entry": BOTH_SIDES, "exit": "After 3 bars, or when it stalls."}, ""),
        ({"entry": "Regime is trend.", "exit": "After 3 bars"}, "No line under Entry is understood."),
        (
            {"entry": BOTH_SIDES, "exit": "After 3 bars", "avoid": ["Never fight the Fed"]},
            "A line under Avoid is not understood: “Never fight the Fed”.",
        ),
    ):
        assert read(**strategy).problem == problem


@pytest.mark.limit(
    "trading.skills.conditions.LONGEST_LASTING",
    "trading.skills.conditions.LONGEST_WINDOW",
    "trading.skills.words.MOST_BARS",
)
def test_line_that_is_not_understood_says_why():
    for strategy, problem in (
        ({"entry": "Buy a close above the 20-bar high if the tape agrees"}, "“tape agrees” is not in the grammar"),
        (
            {"entry": "Long when the weekly close is above the 20-bar mean"},
            "the skill sees no 1w bars; add them to its higher timeframes",
        ),
        ({"entry": "Buy a close above the 501-bar high"}, "501 bars are not 2 to 500 whole bars"),
        ({"entry": "Buy when RSI is below 30 for 50 bars"}, "it may last for 1 to 49 bars or payments"),
        (
            {"entry": BOTH_SIDES, "avoid": ["No trades within 4 days of CPI"]},
            "the calendar is looked at for three days at most",
        ),
        ({"entry": "RSI(14) below 30"}, "say whether to buy or to sell"),
        ({"entry": "Buy when funding is below 20 %"}, "say whether this funding is of a payment or of a year"),
        ({"entry": "Buy when RSI is below the 20-bar mean"}, "RSI(14) is compared with a number"),
        ({"entry": "Only when the close is above the 200-bar mean"}, "say for which side"),
        ({"entry": "Buy a close above the 20-bar high and"}, "it ends too early"),
        ({"entry": BOTH_SIDES, "avoid": ["Trade only on weekdays"]}, "begin with “No” or “Never”"),
        ({"entry": BOTH_SIDES, "exit": "Close below the 10-bar low"}, "say for which side, such as “for longs”"),
    ):
        assert [line.problem for line in read(**strategy).lines if line.problem] == [problem]


def test_line_without_a_side_is_a_condition_of_all_entries():
    reading = read(entry=f"{BOTH_SIDES} Only in a trend regime.", exit="After 3 bars")

    assert [str(rule) for rule in reading.list_rules("entry")] == [
        "long: close above 20-bar high and regime is trend",
        "short: close below 20-bar low and regime is trend",
    ]


def test_hours_become_bars_of_the_skill():
    for interval, expected in (("1h", "24-bar"), ("4h", "6-bar")):
        term = read(interval=interval, entry="Buy above the 24-hour high").terms[0]
        assert str(term) == f"long: close above {expected} high"


def test_any_text_is_read_without_an_error_also_one_as_long_as_its_field():
    for text in ("", "\n\n", "((((", "buy", "close above", "1" * 300, "no", "in", "for longs", "5 %", "or", "\x00"):
        reading = read(entry=text, exit=text, risk_management=text, avoid=[text])
        assert reading.problem

    line = "Buy " + " and ".join(["close above the 20-bar high"] * 62)

    assert len(line) < 2000
    assert len(read(entry=line).list_rules("entry")[0].conditions) == 62


SPELLED = {
    "NUM": ["0", "2", "20", "1.5", "-3"],
    "PCT": ["2 %", "0.05 %", "-40 %", "0 %"],
    "LEN": ["20-bar", "4-hour", "1d", "2 weeks", "0 hours"],
    "FACTOR": ["2x", "1.5 times"],
    "PARAMS": ["(20)", "(20, 2)", "(0, 2)"],
    "TIME": ["08:00", "8 pm", "24:00"],
    "COMMA": [",", ":"],
    "DASH": ["-"],
}


def spell_form(form, draw):
    """Return a text that a form of the grammar takes."""
    if form.kind == "word":
        return draw(st.sampled_from(SPELLED.get(form.name) or sorted(list_words(form.name))))
    if form.kind == "rule" and not form.parts:
        return spell_form(_load_grammar()._rules[form.name], draw)
    parts = [draw(st.sampled_from(form.parts))] if form.kind == "choice" else form.parts
    return " ".join(spell_form(part, draw) for part in parts * (form.kind != "repeat" or draw(st.booleans())))


@given(data=st.data(), part=st.sampled_from(["entry", "exit", "avoid"]), style=st.sampled_from(["mixed", "range"]))
def test_any_line_of_the_grammar_is_read_or_refused_with_a_reason(data, part, style):
    line = spell_form(_load_grammar()._rules[part], data.draw)
    found = read(style, **{part: [line] if part == "avoid" else line})

    assert all(bool(one.problem) != bool(one.terms) for one in found.lines)
