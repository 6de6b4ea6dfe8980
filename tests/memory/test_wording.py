import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from config.lib.text import one_line
from memory.wording import (
    MAX_CONTENT,
    MAX_TOPIC,
    MIN_CONTENT,
    FactRefused,
    find_category,
    parse_content,
    parse_detail,
    parse_summary,
    parse_topic,
)
from tests.tables import each_case

SECRETS = [
    "My password is hunter2",
    "password: correct horse battery staple",
    "Passphrase = open sesame",
    "My password for Binance is hunter2",
    "The passcode of my phone is 4711",
    "PIN is 4711",
    "The pin of the card: 4711",
    "api key: abcdef",
    "API-key = 9f8e7d",
    "My API key for the Kraken bot is vmPUZE6mv9SD5VNHk4",
    "api secret is shh",
    "access token: abc",
    "secret key=abc",
    "My private key is abc",
    "seed phrase: witch collapse practice feed shame open despair creek road again ice least",
    "The recovery phrase is witch collapse practice",
    "Uses sk-proj-abcdefghijklmnopqrstuvwx for the bot",
    "Uses sk_live_" + 6 * "0a1B",
    "Uses ghp_" + 9 * "0a1B",
    "Uses AKIAIOSFODNN7EXAMPLE on AWS",
    "The bot logs in with eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "-----BEGIN EC PRIVATE KEY----- MHcCAQEEIIGl",
    "Signs with 0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
    "Signs with 4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
    "The bot uses vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A",
    "Pays with 4111 1111 1111 1111",
    "Pays with 4111-1111-1111-1111, expires 12/29",
    "Pays with 4111111111111111",
    "Pays with 5555 5555 5555 4444",
    "Pays with 3782 822463 10005",
    "Pays with 378282246310005",
    "ssn 123-45-6789",
    "My number is 123-45-6789",
    "Social security 123456789",
    "The account is DE89 3704 0044 0532 0130 00",
    "Pays into DE89370400440532013000",
    "Pays into GB29NWBK60161331926819",
    "Account number 12345678",
    "account no. 0012-345-678",
    "Account #: 12345678",
    "My bank account is 0012345678",
    "My account is 12345678 and the bank is in Porto",
    "My account is U1234567",
    "My account: 0012-345-678",
    "Routing number: 021000021",
    "Passport number is 123456789",
    "Passport: C12345678",
    "tax id 12-3456789",
    "National ID: 85073003328",
]

ORDINARY = [
    "My account is at Kraken",
    "Thai tax resident",
    "Has a 401k at Fidelity and a Roth IRA",
    "Pays tax in Germany, with the Abgeltungsteuer of 25%",
    "Never trades alts",
    "You don't take leverage above 5×.",
    "You trade BTC and ETH only — no alts.",
    "You usually trade during US morning (UTC 13:00–17:00).",
    "You want to grow this account 2× in 6 months without drawdowns over 15%.",
    "Bought BTC at 64250.50 on 2026-03-01",
    "Levels for ETH are 3150, 3275 and 3400",
    "Levels for BTC are 65000 66000 67000 68000",
    "Watches 65000 66000 67000",
    "Sold 0.015 BTC at 67123.45 and 0.02 at 67900.10",
    "Account size is 250000 USD",
    "My account is 250000 dollars",
    "My account is 1000000 USDT",
    "My account is 10000000 USD",
    "My account is $250,000",
    "My account is 250 000 EUR",
    "Account: 12500 USDC",
    "My account is 10000000.50",
    "My account is USD 250000",
    "The account balance was 1250000.50 in March",
    "Opened this account 2024-03-01",
    "Account 2024-2025 was flat",
    "Account 1 is for swing trades, account 2 for scalps",
    "Made 1234567 USD in 2025",
    "Order 8812345 was a mistake",
    "Order id 90210-11 was never filled",
    "Ticket 7f3a91c2 went to support",
    "Was born on 1985-07-30",
    "Reviews trades between 2026-03-01 and 2026-04-01",
    "Reviews trades 2026-03-01 2026-04-01",
    "Trades 1300-1700 UTC, never 2200-0100",
    "Called at 1772366400000, as the bot writes its time stamps",
    "Phone is off after 21:00",
    "Keeps his API keys on a hardware token",
    "The key is patience",
    "The key level is 65000",
    "My key levels are 64000 and 66000",
    "Likes governance tokens: UNI, AAVE",
    "Has password issues at the exchange",
    "A pin at the level is the trigger",
    "Pin bar setups: only on BTC",
    "Trades pin bars on the daily chart",
    "Uses the passport method for taxes",
    "Tax year ends 2026-04-05",
    "Wants a token unlock calendar",
    "Trades the ASIA_session_breakout_strategy only",
    "ASIA-session-breakouts-only on weekdays",
    "Has 3 accounts at Interactive Brokers",
    "Uses 1h, 4h and 1D bars; EMA 20 50 100 200",
    "ES26 AND NQ26 ARE TRADED",
    "ETH address is in the vault",
    "Max risk per trade is 1%, max 3 trades a day",
    "奥さんの名前はサラ",
    "زوجتي اسمها سارة",
]


@each_case("text", SECRETS)
def test_fact_text_refuses_a_secret(text):
    with pytest.raises(FactRefused, match="Keel never keeps those") as refusal:
        parse_content(text)

    assert text not in str(refusal.value)


@each_case("text", ORDINARY)
def test_fact_text_takes_what_traders_say(text):
    assert parse_content(text) == one_line(text)


@given(
    prefix=st.sampled_from(["4", "51", "55", "2221", "34", "37", "6011", "65", "35"]),
    rest=st.text("0123456789", min_size=15, max_size=15),
    separator=st.sampled_from(["", " ", "-"]),
    around=st.sampled_from(["{}", "Pays with {}.", "My card ({}) is blue", "card:{},thanks"]),
)
def test_fact_text_refuses_every_card_number(prefix, rest, separator, around):
    digits = (prefix + rest)[:15]
    total = sum(sum(divmod(int(digit) * (2 if place % 2 == 0 else 1), 10)) for place, digit in enumerate(digits))
    number = digits + str(-total % 10)

    with pytest.raises(FactRefused):
        parse_content(around.format(separator.join(number[start : start + 4] for start in range(0, 16, 4))))


@pytest.mark.parametrize("text", [secret for secret in SECRETS if "4111" in secret])
def test_fact_text_finds_a_secret_in_any_spelling(text):
    spelled = text.replace("4", "\uff14").replace(" ", "\u00a0") + "\u200b"

    with pytest.raises(FactRefused):
        parse_content(spelled)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("risk", "risk"),
        (" Risk ", "risk"),
        ("Time zone", "time-zone"),
        ("time_zone", "time-zone"),
        ("[risk]\n## New", "risk-new"),
        ("épargne", "épargne"),
        ("リスク", "リスク"),
        ("...", ""),
        ("", ""),
        ("x" * 40, "x" * 32),
        ("a" * 31 + " b", "a" * 31),
    ],
)
def test_topic_slug_makes_a_short_tag(text, topic):
    assert parse_topic(text) == topic


@pytest.mark.parametrize("text", ["4111 1111 1111 1111", "password: hunter2", "sk-abcdefghijklmnopqrstuvwx"])
def test_topic_slug_refuses_a_secret(text):
    with pytest.raises(FactRefused):
        parse_topic(text)


@given(st.text(max_size=60))
def test_topic_slug_stays_what_it_is(text):
    topic = parse_topic(text)

    assert len(topic) <= MAX_TOPIC
    assert parse_topic(topic) == topic


@pytest.mark.parametrize(
    ("content", "category"),
    [
        ("I am a swing trader", "profile"),
        ("I prefer mean reversion setups", "profile"),
        ("I prefer short answers", "response_style"),
        ("Numbers first, please", "response_style"),
        # Not seen while the words were chosen.
        ("I hold positions for days", "profile"),
        ("My entries are discretionary", "profile"),
        ("Explain my trades without jargon", "response_style"),
        ("No emojis", "response_style"),
    ],
)
def test_category_of_a_style_tells_trading_from_answers(content, category):
    assert find_category("style", content) == category


def test_category_follows_the_topic_and_is_the_last_one_for_an_unknown_topic():
    topics = {
        **dict.fromkeys(("risk", "goal", "session"), "profile"),
        **dict.fromkeys(("symbols", "account", "tax"), "finance_context"),
        **dict.fromkeys(("family", "", "Risk"), "fact"),
    }
    assert {topic: find_category(topic) for topic in topics} == topics


@pytest.mark.limit("memory.wording.MAX_BODY", "memory.wording.MAX_CONTENT", "memory.wording.MAX_SUMMARY")
@pytest.mark.parametrize(
    ("parse", "most", "words"),
    [(parse_content, 500, "4 to 500"), (parse_summary, 200, "at most 200"), (parse_detail, 4000, "at most 4000")],
)
def test_fact_shorter_line_and_detail_are_refused_when_too_long(parse, most, words):
    assert parse("x" * most)
    with pytest.raises(FactRefused, match=f"{words} characters"):
        parse("x" * (most + 1))


@given(st.text(st.characters(), max_size=80))
def test_fact_text_is_one_clean_line_of_its_length_or_refused(text):
    try:
        line = parse_content(text)
    except FactRefused:
        reject()

    assert MIN_CONTENT <= len(line) <= MAX_CONTENT
    assert line.isprintable()
    assert line == " ".join(line.split())
    assert parse_content(line) == line
