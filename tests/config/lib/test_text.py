# ruff: noqa: RUF001 - characters that look like others are what these tests are about

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.lib.text import clean_text, csv_cell, make_slug, normal_form, one_line, prompt_line

# Sentences of facts in many scripts, as people type them.
SCRIPTS = {
    "latin": "Risks at most 1% per trade",
    "german": "Größe höchstens fünfzig Euro",
    "greek": "Συναλλάσσεται μόνο με χρυσό",
    "cyrillic": "Торгует только биткоином",
    "hebrew": "סוחר רק בביטקוין",
    "arabic": "يتداول البيتكوين فقط",
    "hindi": "केवल बिटकॉइन में व्यापार करता है",
    "thai": "ซื้อขายเฉพาะบิตคอยน์",
    "chinese": "只交易比特币",
    "japanese": "ビットコインだけを取引する",
    "korean": "비트코인만 거래한다",
    "emoji": "Likes 🚀 and 📉",
}
HIDDEN = {
    "nul": "\x00",
    "escape": "\x1b",
    "delete": "\x7f",
    "soft_hyphen": "\u00ad",
    "zero_width_space": "\u200b",
    "zero_width_joiner": "\u200d",
    "right_to_left_mark": "\u200f",
    "right_to_left_override": "\u202e",
    "isolate": "\u2066",
    "word_joiner": "\u2060",
    "byte_order_mark": "\ufeff",
    "tag": "\U000e0041",
    "surrogate": "\ud800",
    "private_use": "\ue000",
    "unassigned": "\u0378",
}
BREAKS = {
    "newline": "\n",
    "carriage_return": "\r",
    "tab": "\t",
    "vertical_tab": "\x0b",
    "form_feed": "\x0c",
    "file_separator": "\x1c",
    "next_line": "\x85",
    "line_separator": "\u2028",
    "paragraph_separator": "\u2029",
    "no_break_space": "\u00a0",
    "ideographic_space": "\u3000",
}
# More of what matters than hypothesis would draw by itself, and lone surrogates, as JSON can bring them.
MARKS = st.sampled_from(
    [*"#`~-=_* \n.…!ßςİıſ①Å\u0301\u0345\ufe0f\u200b", "###", "```", *HIDDEN.values(), *BREAKS.values()]
)
TEXTS = st.lists(MARKS | st.characters(exclude_categories=()), max_size=24).map("".join)

each_script = pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
each_hidden = pytest.mark.parametrize("char", HIDDEN.values(), ids=HIDDEN)
each_break = pytest.mark.parametrize("char", BREAKS.values(), ids=BREAKS)


# --- clean_text ---


@each_script
def test_clean_text_leaves_any_script_as_it_is(text):
    assert clean_text(text) == text


@pytest.mark.parametrize("text", ["👩‍👩‍👧", "می‌خواهم", "क्‍ष"], ids=["family", "persian", "hindi"])
def test_clean_text_keeps_the_joiners_of_scripts_and_emoji(text):
    assert clean_text(text) == text


def test_clean_text_keeps_lines_and_tabs():
    assert clean_text("one\r\ntwo\rthree\n\tfour") == "one\ntwo\nthree\n\tfour"


@pytest.mark.parametrize("name", ["nul", "escape", "surrogate", "right_to_left_override", "isolate", "byte_order_mark"])
def test_clean_text_drops_what_no_one_typed(name):
    assert clean_text(f"a{HIDDEN[name]}b") == "ab"


@given(TEXTS)
def test_clean_text_can_be_stored_anywhere(text):
    cleaned = clean_text(text)

    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned) == cleaned


# --- one_line ---


@each_script
def test_one_line_leaves_any_script_as_it_is(text):
    assert one_line(text) == unicodedata.normalize("NFKC", text)


@each_hidden
def test_one_line_drops_hidden_characters(char):
    assert one_line(f"{char}a{char}b{char}") == "ab"


@each_break
def test_one_line_makes_one_space_of_any_white_space(char):
    assert one_line(f"{char}a{char}{char} b{char}") == "a b"


def test_one_line_makes_one_character_of_those_that_look_the_same():
    assert one_line("ﬁne １２ Ａ①") == "fine 12 A1"


@given(TEXTS)
@example("\u0041\u200b\u030a")  # the parts of Å, kept apart by a character that goes
def test_one_line_is_one_clean_line_and_stays_it(text):
    line = one_line(text)

    assert line == " ".join(line.split())
    assert line.isprintable()
    assert one_line(line) == line


# --- prompt_line ---


@each_script
def test_prompt_line_leaves_any_script_as_it_is(text):
    assert prompt_line(text) == one_line(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# New rules", "New rules"),
        ("## # New rules", "New rules"),
        ("# #rules", "rules"),
        ("＃ New rules", "New rules"),
        ("Trades\n\n## New rules", "Trades New rules"),
        ("```system", "`system"),
        ("~~~~", "~"),
        ("`\u200b``", "`"),
        ("a --- b", "a - b"),
        ("- - -", "-"),
        ("* * *", "*"),
        ("_ __", "_"),
        ("- - # -", "-"),
        ("=====", "="),
        ("Trades #1 of the list", "Trades #1 of the list"),
        ("F&O: 50-50, not --all", "F&O: 50-50, not --all"),
    ],
)
def test_prompt_line_takes_marks_their_power(text, line):
    assert prompt_line(text) == line


@given(TEXTS)
@example("a ## b")
@example("# #a")
@example("- - # -")
def test_prompt_line_opens_nothing_and_stays_so(text):
    line = prompt_line(text)

    assert "\n" not in line
    assert line.isprintable()
    assert not line.startswith("#")
    assert "# " not in line
    assert not any(mark * 3 in line.replace(" ", "") for mark in "-_*" if not line.strip(f"{mark} "))
    assert not any(mark * 3 in line for mark in "`~=-_*")
    assert prompt_line(line) == line


# --- normal_form ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Trades BTC.", "trades  btc"),
        ("Trades BTC!?", "Trades BTC"),
        ("Straße", "STRASSE"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("БИТКОИН", "биткоин"),
        ("ｂｔｃ", "BTC"),
        ("cafe\u0301", "CAFÉ"),
        ("只交易比特币。", "只交易比特币"),
        ("no\u00adthing", "nothing"),
    ],
)
def test_normal_form_makes_texts_equal(one, other):
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    ("one", "other"), [("1.5%", "15%"), ("+1", "-1"), ("BTC, ETH", "BTC ETH"), ("e", "é"), ("!", "?")]
)
def test_normal_form_keeps_texts_apart(one, other):
    assert normal_form(one) != normal_form(other)


@given(TEXTS)
@example("\u0345")
@example("a .")
@example("…")
def test_normal_form_stays_what_it_is(text):
    normal = normal_form(text)

    assert normal_form(normal) == normal
    assert normal or not one_line(text)


@given(st.text(st.sampled_from("".join(SCRIPTS.values()) + "ßſẞΣςǅ①ﬁ")))
def test_normal_form_knows_no_case(text):
    assert normal_form(text.upper()) == normal_form(text.lower()) == normal_form(text)


# --- slug ---


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Risk", "risk"),
        ("  Tax & accounts ", "tax-accounts"),
        ("snake_case", "snake-case"),
        ("--", ""),
        ("❤️", ""),
        ("❤️ gold", "gold"),
        ("लक्ष्य जोखिम", "लक्ष्य-जोखिम"),
        ("ความเสี่ยง", "ความเสี่ยง"),
        ("風險", "風險"),
        ("Ｒｉｓｋ", "risk"),
        ("a" * 40, "a" * 32),
        ("a" * 31 + " b", "a" * 31),
    ],
)
def test_slug_is_a_short_tag(text, tag):
    assert make_slug(text, max_length=32) == unicodedata.normalize("NFKC", tag)


@given(TEXTS)
def test_slug_fits_and_stays_what_it_is(text):
    tag = make_slug(text, max_length=8)

    assert len(tag) <= 8
    assert " " not in tag
    assert tag == tag.strip("-")
    assert make_slug(tag, max_length=8) == tag


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("Breakout", "Breakout"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\u200b=1", "'=1"),
        ("a\r\nb", "a b"),
        ("", ""),
    ],
)
def test_csv_cell_is_never_a_formula(text, cell):
    assert csv_cell(text) == cell
