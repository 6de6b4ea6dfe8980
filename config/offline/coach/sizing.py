"""The check of a planned trade: repeat the figures that were read, and size it only if they have one reading."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import product
from typing import Final

from chat.tools.market import GET_MARKET_OVERVIEW
from chat.tools.questions import QUERY_TRADES
from config.lib import figures
from config.lib.words.markets import symbols_in
from config.lib.words.quantities import MULTIPLIERS, NUMBER_WORDS, word_set
from config.lib.words.sentences import Pattern, sentences
from config.offline.coach.telling import tell
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, block, escape, exact, number, paragraphs, rows
from config.offline.talk import Steps, Talk
from memory.claims.subjects import read_subject
from trading.asking.words import Words, read_words

_ASK_CHECK: Final = (
    "Name one market, one side and the stop, and I size it and check it against your rules and record: “how big can a"
    " BTC long be with a stop 4% away?”"
)
_ASK_NAMES: Final = (
    "I compute nothing before I know what each figure is. Name each one, once: “entry …, stop …, account …, risk …%”."
)
_ASK_SIZE: Final = (
    "How large is your account? Ask again with it and the risk (“account …, risk …%”), or with a size in dollars."
)
_ASKS: Final = Pattern(
    r"^(?:can|could|should|may|what if|would) (?:i|we|an?)\b|^(?:i'd|i would) like to\b|^i want to\b"
)

# A token a line; the first that fits counts. "25.000" may mean 25 or 25,000, so it is no figure.
_TOKENS: Final = r"""
figure: (?<![\w.,])\$? ?(?!0*[1-9]\d{0,2}\.\d{3}(?!\d))(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?: ?k\b)?
    (?: ?(?:%|percent\b|x\b|usd[tc]?\b|dollars\b|bucks\b)|(?!\w|[.,]\d))
stop: \bstop(?:[ -]?loss)?(?:es|s)?(?: price| level)?\b|\bsl\b
risk: \brisk(?:ing)?\b|\bmax(?:imum)? (?:loss|risk)\b|\blose\b
equity: \b(?:account|acct|capital|equity|balance|bankroll)\b
leverage: \blev(?:erage)?\b
target: \b(?:price )?targets?(?: price)?\b|\btp\b|\btake[ -]profits?\b
price: \b(?:entry(?: price)?|enter(?:ing)?|price)\b
away: \b(?:away|below|above|under|over|lower|higher|points?|ticks?|pips?)\b
trade: \b(?:size|position|notional|worth|buy(?:ing)?|long|short|trade|put(?:ting)?|sell(?:ing)?(?= \$?\d))\b
at: \bat\b|@
joint: \b(?:is|are|of|from|as|to|in|out|for|about|around|roughly|only|just|be|order|set|sits|my|the|an?)\b|[:=]
word: [^\W\d_]+(?:'\w+)?
cut: [,;.!?()]
other: [^\w\s]|\S+
"""
_LABELS: Final = frozenset({"stop", "risk", "equity", "leverage", "target", "price", "away", "trade", "symbol"})
# Joints between a figure and the label behind it.
_AFTER: Final = frozenset({"of", "from", "as", "in", "for", "my", "the", "a", "an"})
_SPOKEN: Final = frozenset({*NUMBER_WORDS, *MULTIPLIERS, "grand"})
_ENTERS: Final = frozenset({"here", "now", "take", "go", "open", "it"})  # before "at 3200"
# Words that change no figure beside them. Any other word in the clause of a figure ("1.5 ATR", "3% a day", "I risked",
# "25,000 EUR", "the 50 EMA") may say that the figure is another one than its label does.
_PLAIN: Final = word_set("""
    and at by for if into of on per so then to too w with can could may might should would will do does am has have got
    i i'd i'll i'm i've im it its me mine we you your another new next that there this want wanna like need looking
    look thinking planning plan going go gonna take taking open opening let let's lets use using give tell show check
    calculate compute figure work how what what's whats which when where much many big bigger large right good ok okay
    please thanks hi hey keel here now idea setup coin coins contract contracts unit units perp perps perpetual future
    futures swap spot usd usdt usdc sizing sized positions trades fit fits rules rule allowed max maximum
""")
_SURELY_USD: Final = 20  # a bare risk above it is no percent
_MOST_FIGURES: Final = 8
# What a label says of a figure, by the figure's unit: percent, times, dollars, or none.
_OF_PERCENT: Final = {"stop": "away", "away": "away", "risk": "risk_pct"}
_OF_AMOUNT: Final = {"stop": "stop", "price": "price", "equity": "equity_usd", "target": "target"}
# What the reply calls a figure of a check, and writes it by; in the order in which they are repeated.
_NAMES: Final[dict[str, tuple[str, Callable[[Decimal], str]]]] = {
    "quantity": ("coins", figures.format_quantity),
    "price": ("entry", figures.format_price),
    "stop": ("stop", figures.format_price),
    "away": ("stop", lambda value: f"{value:g}% away"),
    "target": ("target", figures.format_price),
    "equity_usd": ("account", figures.format_usd),
    "size_usd": ("size", figures.format_usd),
    "risk_usd": ("risk", figures.format_usd),
    "risk_pct": ("risk", lambda value: f"{value:g}%"),
    "leverage": ("leverage", lambda value: f"{value:g}x"),
}
# Names that exclude each other: a second stop, and what already says how large the trade is.
_SLOTS: Final = {"away": "stop", "risk_pct": "size", "risk_usd": "size", "size_usd": "size", "quantity": "size"}
_MOST_RATIO: Final = 2  # of entry and stop; beyond it one of them is something else

_Name = tuple[str, int | None]  # of a figure, and the place of the label that says so


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def read_figures(text: str, symbol: str) -> dict[str, float] | None:
    """Return the figures that a message gives for a plan in a symbol, by their names; None: not exactly one reading.

    A figure takes its name from the label on its left or on its right, across joints only; a label names one figure.
    A reading gives every figure a name, and no name twice.
    """
    tokens = _split(text, symbol)
    places = [at for at, token in enumerate(tokens) if token.kind == "figure"]
    if len(places) > _MOST_FIGURES or not all(map(_is_plain, _split_clauses(tokens))):
        return None
    readings = set()
    for names in product(*(_list_names(tokens, at) for at in places)):
        labels = [label for _, label in names if label is not None]
        slots = {_SLOTS.get(name, name) for name, _ in names}
        if len(set(labels)) == len(labels) and len(slots) == len(names):
            readings.add(tuple(name for name, _ in names))
    if len(readings) != 1:
        return None
    read = dict(zip(readings.pop(), (_read_amount(tokens[at].text) for at in places), strict=True))
    return read if _is_plausible(read) else None


def _is_plausible(numbers: Mapping[str, float]) -> bool:
    """Tell whether the figures fit each other: "an 80 stop" may be a distance, "$500 at 10x" a margin."""
    price, stop = numbers.get("price"), numbers.get("stop")
    is_near = not price or not stop or 1 / _MOST_RATIO < stop / price < _MOST_RATIO
    return is_near and not {"size_usd", "leverage"} <= numbers.keys()


def tell_figures(numbers: Mapping[str, float]) -> str:
    """Return what was read as a line of the reply."""
    told = [f"{name} {write(Decimal(str(numbers[key])))}" for key, (name, write) in _NAMES.items() if key in numbers]
    return f"Read: {', '.join(told)}." if told else ""


def _split(text: str, symbol: str) -> list[_Token]:
    tokens = []
    for match in _compile_tokens().finditer(text):
        kind = match.lastgroup or "other"
        is_symbol = kind == "word" and symbols_in(match[0].upper()) == [symbol]
        tokens.append(_Token("symbol" if is_symbol else kind, match[0].strip().casefold()))
    return tokens


@cache
def _compile_tokens() -> re.Pattern[str]:
    lines = (line.partition(": ") for line in re.sub(r"\n    ", "", _TOKENS).strip().split("\n"))
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, _, pattern in lines), re.IGNORECASE)


def _split_clauses(tokens: Sequence[_Token]) -> list[list[_Token]]:
    clauses: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == "cut":
            clauses.append([])
        else:
            clauses[-1].append(token)
    return clauses


def _is_plain(clause: Sequence[_Token]) -> bool:
    """Tell whether a clause has no figure, or no word that could change one."""
    is_spoken = any(token.kind == "word" and token.text in _SPOKEN for token in clause)
    if is_spoken or any(token.kind == "other" and any(map(str.isdigit, token.text)) for token in clause):
        return False
    has_figure = any(token.kind == "figure" for token in clause)
    return not has_figure or all(token.kind != "word" or token.text in _PLAIN for token in clause)


def _list_names(tokens: Sequence[_Token], at: int) -> list[_Name]:
    """Return the names that the neighbours of a figure allow."""
    unit = _find_unit(tokens[at].text)
    left, joints, opens = _find_left(tokens, at)
    right, is_from = _find_right(tokens, at)
    before = tokens[left].kind if left is not None else ""
    after = tokens[right].kind if right is not None else ""
    is_counted = after == "symbol" and not unit and right == at + 1
    if (after == "away" and unit != "%") or (is_counted and before not in ("", "trade")):
        return []  # a distance in points or dollars; a risk in coins
    if unit == "x":
        return [("leverage", None)] if before in ("", "leverage", "trade", "symbol") else []
    if unit == "%" and after == "equity" and before != "risk":
        return []  # a share of the account that is no risk by its words
    if unit == "%":
        own = _OF_PERCENT.get(before)
        next_ = "away" if after == "price" and is_from else _OF_PERCENT.get(after)
        return [(name, place) for name, place in ((own, left), (next_, right)) if name]
    names = [(_name_amount(before, tokens[at].text, unit), left), (_name_amount(after, tokens[at].text, unit), right)]
    if after == "stop" and unit == "$":
        names[1] = ("", None)  # "an $80 stop" is a distance
    is_entered = before in ("trade", "symbol") or (not before and (opens in _ENTERS or (not opens and "in" in joints)))
    if joints & {"at", "@", "from"} and is_entered:
        names[0] = ("price", None)
    elif "for" in joints and unit == "$" and not before:
        names[0] = ("size_usd", None)
    if is_counted:
        names[1] = ("quantity", right)
    return [(name, place) for name, place in names if name]


def _name_amount(label: str, text: str, unit: str) -> str:
    """Return what a label says of an amount; "": nothing."""
    if label in ("trade", "symbol"):
        return "size_usd" if unit == "$" else ""
    if label == "risk":
        return "risk_usd" if unit == "$" or _read_amount(text) > _SURELY_USD else ""
    if label == "leverage":
        return "" if unit else "leverage"
    return _OF_AMOUNT.get(label, "")


def _find_left(tokens: Sequence[_Token], at: int) -> tuple[int | None, set[str], str]:
    """Return the place of the label before a figure, the joints between them, and the word that ends them without one.

    The word is "" where the clause begins.
    """
    joints: set[str] = set()
    for place in range(at - 1, -1, -1):
        token = tokens[place]
        if token.kind in _LABELS:
            is_near = token.kind != "symbol" or bool(joints & {"at", "@", "from"})
            return (place if is_near else None), joints, token.text
        if token.kind not in ("at", "joint"):
            return None, joints, "" if token.kind == "cut" else token.text
        joints.add(token.text)
    return None, joints, ""


def _find_right(tokens: Sequence[_Token], at: int) -> tuple[int | None, bool]:
    """Return the place of the label after a figure, and whether a "from" stands between."""
    is_from = False
    for place in range(at + 1, len(tokens)):
        if tokens[place].kind in _LABELS:
            return place, is_from
        if tokens[place].text not in _AFTER:
            break
        is_from |= tokens[place].text == "from"
    return None, is_from


def _find_unit(text: str) -> str:
    if text.endswith(("%", "percent")):
        return "%"
    if text.endswith("x"):
        return "x"
    return "$" if text.startswith("$") or re.search(r"[a-z]{3}$", text) else ""


def _read_amount(text: str) -> float:
    digits = re.sub(r"[^\d.]", "", text)
    amount = float(digits) * (1000 if re.search(r"\d ?k", text) else 1)
    return int(amount) if amount == int(amount) else amount


# --- The check ---


def is_check(words: Words) -> bool:
    """Tell whether a question is about a trade that is planned."""
    is_trade = words.has("coin") and bool(words.given.get("side") or _find_side(words))
    if is_trade and words.has("-why -when -count -last -exit") and _has_stop(words.text):
        return True
    is_planned = is_trade and words.has("broken") and bool(words.has("size") or _ASKS.match(words.text))
    return words.is_covered and (words.has("size -result -average") or is_planned)


def check_steps(talk: Talk, words: Words) -> Steps:
    """Check and size a planned trade, a stop in percent by the price of the market."""
    others = [(one, read_words(one)) for one in sentences(talk.text)]
    if not words.symbols and any(other.symbols and is_check(other) for _, other in others):
        return ""  # "How many coins?" behind the plan, which is answered
    # The plan may stand in other sentences of the message; what another question says is not of it.
    plan = " ".join(one for one, other in others if "?" not in one or _has_stop(one) or is_check(other))
    words = words if words.symbols else read_words(plan)
    symbol = words.symbols[0] if len(set(words.symbols)) == 1 else ""
    side = _find_side(words)
    limit = next((fact.text for fact in talk.known if read_subject(fact.text).key == "risk per trade"), "")
    read = read_figures(plan, symbol)
    if not symbol or not side or (read is not None and not {"stop", "away"} & read.keys()):
        return f"You told me: {escape(limit)}. {_ASK_CHECK}" if limit else _ASK_CHECK
    if read is None:
        return _ASK_NAMES
    check = {name: value for name, value in read.items() if name != "target"}
    share = re.findall(r"(\d+(?:\.\d+)?) ?%", limit)
    is_by_limit = len(share) == 1 and not {"risk_pct", "risk_usd", "size_usd", "quantity"} & check.keys()
    if is_by_limit:
        check["risk_pct"] = _read_amount(share[0])
    if "away" in check:
        price = check.get("price") or (yield from _find_price(symbol))
        if price is None:
            return f"I see no price of {symbol}, so I cannot place a stop in percent of it. Name its price."
        away = check.pop("away") / 100
        check["stop"] = float(f"{float(price) * (1 - away if side == 'long' else 1 + away):.6g}")
    [answer] = yield (Call(QUERY_TRADES.name, {"check": {"symbol": symbol, "side": side, **check}}),)
    checked = block(answer.as_row, "check")
    told = [tell_figures(read), f"By what you told me: {escape(limit)}." if is_by_limit else ""]
    price, stop = (float(number(checked, key) or 0) for key in ("price", "stop_price"))
    if not _is_plausible({"price": price, "stop": stop}):
        return _ASK_NAMES
    is_judged = number(checked, "size_usd") or exact(checked, "verdict") == "breaks a rule"
    return paragraphs(*told, talk.tell_errors([answer]) or (_tell_check(checked) if is_judged else _ASK_SIZE))


def _tell_check(plan: Row) -> str:
    why = [one for one in plan.get("why") or () if isinstance(one, str)]
    # A reason begins with the rule that it is about.
    others = [one for one in rows(plan, "rules") if not any(text.startswith(f"{exact(one, 'rule')}:") for text in why)]
    return tell("check", {**plan, **block(plan, "similar")}, [*({"told": one} for one in why), *others])


def _find_price(symbol: str) -> Generator[tuple[Call, ...], list[Outcome], Decimal | None]:
    [market] = yield (Call(GET_MARKET_OVERVIEW.name, {"symbols": [symbol]}),)
    return next((value for one in market.entries("markets") if (value := number(one, "last_price"))), None)


def _has_stop(text: str) -> bool:
    """Tell whether a sentence names a stop and a figure."""
    return any(token.kind == "stop" for token in _split(text, "")) and any(map(str.isdigit, text))


def _find_side(words: Words) -> str:
    """Return the side of a planned trade, "" if both are named; to sell a number of coins is a short."""
    is_sold = re.search(r"\bsell(?:ing)? (?:\$?\d|a\b|some\b)", words.text)
    side = words.given.get("side", "")
    return "" if "," in side else side or ("short" if is_sold else "")
