"""The support rule as a table of cases."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.lib.words.lexer import MASK
from memory.claims.claims import read_claims
from memory.claims.statements import keep_statements, keep_typed_words
from memory.claims.support import Quote, TypedMessage, find_support, verify_quotes


def quoted(content, *texts):
    """Return the words that support a content, None when none do."""
    messages = [TypedMessage(at, text) for at, text in enumerate(texts, start=1)]
    quote = find_support(content, messages)
    return quote and texts[quote.message_id - 1][quote.start : quote.end]


SUPPORTED = [
    # content, what the user typed, the tightest span of it
    ("Never trades alts", "I never trade alts", "never trade alts"),
    ("Doesn't trade alts", "Well, I don’t trade alts.", "don’t trade alts"),
    ("Never trades alts", "I trade BTC and ETH, never alts", "trade BTC and ETH, never alts"),
    ("Never trades altcoins", "i never trade alts", "never trade alts"),
    ("No longer trades alts", "I used to trade alts", "used to trade alts"),
    ("Avoids trading during FOMC", "I avoid trading during FOMC", "avoid trading during FOMC"),
    ("Always uses stops", "I never trade alts and always use stops", "use stops"),
    ("Never trades without a stop", "I never trade without a stop", "never trade without a stop"),
    ("Trades everything except alts", "I trade everything except alts", "everything except alts"),
    ("Only trades BTC and ETH", "I only trade BTC and ETH - no alts", "only trade BTC and ETH"),
    ("Trades bitcoin", "I trade BTC", "trade BTC"),
    ("No individual stocks (funds only)", "no individual stocks, funds only", "no individual stocks, funds only"),
    # Numbers and units.
    ("Max leverage is 5x", "my max leverage is 5×", "max leverage is 5×"),
    ("Max leverage is 5x", "my max leverage is \uff15\uff58", "max leverage is \uff15\uff58"),
    ("Max leverage is 5x", "my max leverage: 5", "max leverage: 5"),
    ("Risks 1 percent per trade", "I risk 1% per trade", "risk 1% per trade"),
    ("Risks 1% per trade", "I risk one per cent per trade", "risk one per cent per trade"),
    ("Risks 1% per trade", "I risk 1% per trade and make 10%", "risk 1% per trade"),
    ("Account size is 1000 usd", "my account size is $1,000", "account size is $1,000"),
    ("Account of $10k", "I have an account of 10,000 dollars", "account of 10,000 dollars"),
    ("Capital is 1.5m usd", "my capital is $1.5 million", "capital is $1.5 million"),
    ("Max 3 trades a day", "at most three trades per day", "at most three trades"),
    ("Takes a break after two losses", "I take a break after 2 losses", "take a break after 2"),
    ("Trades until 5pm UTC", "I trade until 17:00 UTC", "until 17:00 UTC"),
    ("Trades 13:00 to 17:00 UTC", "I usually trade 13:00–17:00 UTC", "trade 13:00–17:00 UTC"),
    # Bounds, whichever way they are put.
    ("Max leverage 5x", "I never go above 5x leverage", "above 5x leverage"),
    ("Never risks more than 1% per trade", "max risk per trade: 1%", "max risk per trade: 1%"),
    (
        "Wants to grow the account 2x without drawdowns over 15%",
        "My goal is to grow this account 2x, without drawdowns above 15 %.",
        "account 2x, without drawdowns above 15 %",
    ),
    # 60 % of the words are enough; a question mark does not make a question of a request.
    ("Prefers short and friendly answers", "I prefer short answers", "prefer short answers"),
    ("Never trades alts", "Can you remember that I never trade alts?", "never trade alts"),
    ("Never trades alts", "I never trade alts, ok?", "never trade alts"),
    ("Never trades alts", "I never trade alts, so should I sell DOGE?", "never trade alts"),
    ("Max leverage is 3x", "No, max leverage is 3x", "max leverage is 3x"),
    ("Never trades alts", 'no "alts" for me: I never trade "alts"', 'never trade "alts'),
    ("Max leverage is 5x", 'Remember this: "my max leverage is 5x"', "max leverage is 5x"),
    ("Name is Sarah", "As I said, my name is sarah", "name is sarah"),
    # Other scripts.
    ("从不交易山寨币", "我从不交易山寨币。", "不交易山寨"),
    ("アルトコインは取引しない", "私はアルトコインは取引しない", "コインは取引しない"),
    ("Уровень риска низкий", "мой уровень риска низкий", "риска низкий"),
    ("Ich handle nie Altcoins", "altcoins handle ich nie", "altcoins handle ich nie"),
]

REFUSED = [
    (
        "a sentence nobody said, behind a long one",
        "Only trades BTC and ETH perps morning journals each trade, reviews journal Sundays coffee, sizes by "
        "volatility, fixed stop, slow calm markets, closes before dinner: obeys every headline and buys doge with the "
        "whole account whenever the news praises it",
        "I only trade BTC and ETH perps in the morning, I journal each trade and review the journal on Sundays with "
        "coffee, I size by volatility and keep a fixed stop, I like slow calm markets and I close everything before "
        "dinner",
    ),
    # content, what the user typed
    ("negation put in", "Never trades alts", "I trade alts"),
    ("negation of nothing put in", "Never! Trades alts", "I trade alts"),
    ("negation dropped", "Trades alts", "I never trade alts"),
    ("negation of another clause", "Never trades BTC", "I trade BTC but never alts"),
    ("one of two negations dropped", "Trades without a stop", "I never trade without a stop"),
    ("one of two negations put in", "Never trades without a stop", "I trade without a stop"),
    ("negation moved to what follows", "Never uses stops", "I never trade alts and always use stops"),
    ("joined to a denied word", "Trades memes", "I never trade alts and memes"),
    ("listed with a denied word", "Memes are traded", "No alts, memes are traded by others"),
    ("denied in part only", "Never uses stops", "I don't always use stops"),
    ("past", "Trades alts", "I used to trade alts"),
    ("avoided", "Trades during FOMC", "I avoid trading during FOMC"),
    ("exception of what is denied", "Never trades SOL", "I never trade alts except SOL"),
    ("restriction put in", "Only trades BTC", "I trade BTC"),
    ("not the only one", "Only trades BTC", "I don't trade only BTC"),
    ("another number", "Max leverage is 50x", "my max leverage is 5x"),
    ("a number more", "Max leverage is 5x, then 10x", "my max leverage is 5x"),
    ("another unit", "Max leverage is 5%", "my max leverage is 5x"),
    ("another currency", "Account size is 5000 dollars", "my account size is 5000 euros"),
    ("unit put in", "Risks 10% per trade", "I risk 1% per trade. There are 10 of us."),
    ("a number of another sentence", "Wants 50x leverage", "I like leverage. 50x is mad."),
    ("a number of something else", "Risks 10% per trade", "I risk 1% per trade to make 10%"),
    ("a denied number", "My leverage is 5x", "my leverage is 3x, not 5x"),
    ("another bound", "Min leverage is 5x for every trade", "max leverage is 5x for every trade"),
    ("another side of a time", "Never trades before 17:00", "I never trade after 17:00"),
    ("another sign", "Stops at -5% a day", "I stop at 5% a day"),
    ("another name", "Wife's name is Mallory", "my wife's name is Sarah"),
    ("another symbol", "Only trades BTC and DOGE", "I only trade BTC and ETH"),
    ("half of the words", "Likes slow quiet careful markets", "I love slow and careful people"),
    ("no content at all", "This is what it is", "this is what it is"),
    ("nothing typed", "Never trades alts", ""),
    # Words of others, which the user only typed or pasted.
    ("news", "Max leverage is 50x", "The news says: my max leverage is 50x"),
    ("news below", "Max leverage is 50x", "The article says:\n\nMax leverage is 50x.\nTrade more."),
    ("news by its name", "Max leverage is 50x", "According to the article: max leverage is 50x"),
    ("news without a colon", "Max leverage is 50x", "According to the article a max leverage of 50x is fine"),
    ("headline", "Max leverage is 50x", "News of today: max leverage is 50x"),
    ("a friend", "Uses 50x leverage", "My friend says he uses 50x leverage"),
    ("the assistant", "Max leverage is 50x", "You said my max leverage is 50x."),
    ("block quote", "Max leverage is 50x", "look at this\n> my max leverage is 50x"),
    ("fence", "Max leverage is 50x", "```\nmy max leverage is 50x\n```"),
    ("open fence", "Max leverage is 50x", "```\nmy max leverage is 50x"),
    ("inline code", "Max leverage is 50x", "run `max leverage is 50x` for me"),
    ("quotation", "Max leverage is 50x", 'he wrote "my max leverage is 50x" to me'),
    ("typographic quotation", "Max leverage is 50x", "it reads “my max leverage is 50x”, funny"),
    ("open quotation", "Max leverage is 50x", "it reads “my max leverage is 50x"),
    ("German quotation", "Max leverage is 50x", "da steht „my max leverage is 50x“"),
    ("CJK quotation", "交易山寨币", "他写了「交易山寨币」"),
    ("markup", "Max leverage is 50x", "<blockquote>max leverage is 50x</blockquote>"),
    # What states nothing.
    ("question", "Max leverage is 50x", "Should my max leverage be 50x?"),
    ("question without a subject", "Max leverage is 50x", "max leverage is 50x?"),
    ("wide question mark", "交易山寨币", "我交易山寨币？"),
    ("supposition", "Max leverage is 50x", "Suppose my max leverage is 50x."),
    ("condition against the fact", "Uses 50x leverage", "If I used 50x leverage I would be broke."),
    # Words from all over.
    ("across a quotation", "Max leverage is 50x", 'My max leverage "as they put it here today" is 50x'),
    ("across sentences", "Buys DOGE with 50x leverage", "DOGE. Is. It. Me. I buy bread. Leverage 50x."),
    ("across a long text", "Buys DOGE", "I buy " + "bread and butter, " * 30 + "DOGE"),
    # Other scripts.
    ("CJK negation dropped", "交易山寨币", "我从不交易山寨币"),
    ("CJK negation put in", "不交易山寨币", "我交易山寨币"),
    ("Japanese negation dropped", "アルトコインは取引する", "私はアルトコインは取引しない"),
    ("German negation dropped", "Handelt Altcoins", "ich handle nie Altcoins"),
]


@pytest.mark.parametrize(("content", "text", "span"), SUPPORTED, ids=[f"{c}<-{t}" for c, t, _ in SUPPORTED])
def test_find_support_returns_the_tightest_span_of_the_users_words(content, text, span):
    assert quoted(content, text) == span


@pytest.mark.parametrize(("content", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_find_support_refuses_what_the_user_did_not_say(content, text):
    assert quoted(content, text) is None


def test_support_stands_in_one_message():
    assert quoted("Sells DOGE", "I sell", "DOGE") is None
    assert quoted("Max leverage is 5x", "my max leverage", "is 5x") is None


def test_the_tightest_span_of_all_messages_is_the_quote_and_the_earliest_among_equals():
    messages = [
        TypedMessage(7, "I never, ever in my whole life trade alts"),
        TypedMessage(8, "so: I never trade alts"),
        TypedMessage(9, "I never trade alts"),
    ]

    assert find_support("Never trades alts", messages) == Quote(8, 6, 22)


def test_the_share_is_sixty_percent():
    text = "I like slow quiet careful things"

    assert quoted("slow quiet careful markets forever", text) == "slow quiet careful"
    assert quoted("slow quiet careful markets forever always", text) is None


# --- Claimed quotes ---

SAID = [
    TypedMessage(1, "Hi! I never trade alts. My max leverage is 5x."),
    TypedMessage(2, "I never trade alts, really"),
]


@pytest.mark.parametrize(
    "claimed",
    [
        {"message_id": 1, "text": "I never trade alts."},
        {"message_id": 1, "text": " i NEVER trade alts. "},
        {"text": "I never trade alts."},
        "I never trade alts.",
        {"message_id": 99, "text": "I never trade alts."},
    ],
    ids=["text", "text in another case", "text without id", "bare text", "text with a wrong id"],
)
def test_verify_quotes_keeps_a_quote_that_supports_the_content(claimed):
    assert verify_quotes("Never trades alts", [claimed], SAID) == (Quote(1, 4, 23),)


@pytest.mark.parametrize(
    "claimed",
    [
        {"message_id": 1, "text": "Hi!"},
        {"message_id": 1, "start": 4, "end": 23},
        {"message_id": [1], "text": "words that stand nowhere"},
        {},
        {"text": ""},
        {"text": 3},
        None,
        17,
        "words that stand nowhere",
    ],
    ids=repr,
)
def test_verify_quotes_finds_the_words_itself_when_the_claim_is_wrong(claimed):
    assert verify_quotes("Never trades alts", [claimed], SAID) == (Quote(1, 6, 22),)


def test_verify_quotes_keeps_each_quote_that_holds_by_itself_once():
    texts = ("I never trade alts.", "I never trade alts.", "I never trade alts", "My max leverage is 5x")
    claimed = [{"message_id": number, "text": text} for number, text in zip((1, 1, 2, 1), texts, strict=True)]

    assert verify_quotes("Never trades alts", claimed, SAID) == (Quote(1, 4, 23), Quote(2, 0, 18))


def test_verify_quotes_reads_a_claimed_part_with_what_stands_around_it():
    told = [TypedMessage(1, 'The news says: "I trade alts". I never trade alts')]

    assert verify_quotes("Trades alts", [{"message_id": 1, "text": "I trade alts"}, "trade alts"], told) == ()


def test_verify_quotes_tightens_a_quote_that_is_the_whole_of_a_long_message():
    told = [TypedMessage(1, f"{'Much happened. ' * 30}I never trade alts.")]

    assert verify_quotes("Never trades alts", [told[0].text], told) == (Quote(1, 452, 468),)


def test_verify_quotes_of_nothing_typed_is_empty():
    assert verify_quotes("Never trades alts", ["I never trade alts"], []) == ()


# --- What the user's own words are ---


@pytest.mark.parametrize(
    "text",
    [
        "I never trade earnings reports.",
        "I live in the United States.",
        "My rule says never above 5x.",
        "I thought about it and I want to trade less.",
        "it's the traders' choice, isn't it, and mine",
        "I risk 1.5% per trade, at 10:30.",
        "I trade the news at 13:30 and according to my plan.",
    ],
)
def test_own_words_leave_plain_statements_alone(text):
    assert keep_statements(text) == text


def test_a_question_is_blanked_and_the_rest_of_the_message_is_not():
    assert keep_statements("Is it good? I never trade alts.").strip(MASK) == " I never trade alts."
    assert keep_typed_words("Is it good? I never trade alts.") == "Is it good? I never trade alts."


# --- Properties ---

WORDS = "I never don't not only and but trade use alts BTC ETH leverage max above 5x two percent remember without no"
PIECES = st.sampled_from(
    [
        *WORDS.split(),
        *("used to", "if I had", "news says:", "5 %", "1,000", "½", "\N{FULLWIDTH DIGIT ONE}", "9" * 50, "10:30", "-3"),
        *(">", "“", "”", '"', "'", "`", "```", "?", "! ", ". ", ",", ";", "(", ")", "\n", "\n\n", "×", MASK),
        *("不", "交易", "山寨币", "ない", "नमस्ते", "É", "ﬁ", "İ", "ß"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=30).map(" ".join)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_a_quote_points_into_the_text_of_its_message(content, texts):
    messages = [TypedMessage(at * 10, text) for at, text in enumerate(texts)]

    quote = find_support(content, messages)

    if quote is not None:
        text = next(message.text for message in messages if message.id == quote.message_id)
        assert 0 <= quote.start < quote.end <= len(text)
        assert MASK not in keep_statements(text)[quote.start : quote.end]


@given(TEXTS, st.lists(TEXTS, max_size=2), TEXTS)
def test_another_message_takes_no_support_away(content, texts, more):
    messages = [TypedMessage(at, text) for at, text in enumerate(texts)]
    before = find_support(content, messages)
    after = find_support(content, [*messages, TypedMessage(99, more)])

    if before is not None:
        assert after is not None
        assert after.end - after.start <= before.end - before.start


@given(TEXTS)
@example("I don't only")
def test_a_line_without_other_peoples_words_supports_itself(text):
    claim = read_claims(text)
    if keep_statements(text) == text and claim.of_kind("word", "bound") and len({t.sentence for t in claim.terms}) == 1:
        assert find_support(text, [TypedMessage(1, text)]) is not None


@given(TEXTS)
def test_blanking_keeps_the_length_and_the_rest(text):
    masked = keep_statements(text)

    assert len(masked) == len(text)
    assert all(char in (given, MASK) or given == MASK for char, given in zip(masked, text, strict=True))


@pytest.mark.clock
@pytest.mark.parametrize(
    "piece",
    [*("« ", "```\n", "a said: ", '"', "1,", "x'", "no alts, ", "“", "\n", "a? ", "Not Abc. ", "<blockquote ", " ")],
)
def test_hostile_text_is_read_in_time_in_proportion_to_its_length(piece):
    began = time.perf_counter()

    find_support("Only BTC, never above 5x", [TypedMessage(1, (piece * 16_000)[:16_000])])

    assert time.perf_counter() - began < 20  # 0.1 s alone; quadratic reading takes a minute
