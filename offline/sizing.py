"""The check of a planned trade: repeat the figures that were read, and size it only if they have one reading."""

from collections.abc import Generator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby, product
from typing import Final

from chat.tools.market import get_market_overview
from chat.tools.questions import query_trades
from config.lib import figures
from config.lib.words.clauses import read_rows
from config.lib.words.lexer import Number, Token, find_phrase, read_tokens, take_number
from config.lib.words.markets import symbols_in
from config.lib.words.quantities import map_words, word_set
from config.lib.words.sentences import sentences
from config.lib.words.vocabulary import find_meaning
from memory.claims.subjects import read_subject
from offline.messages import Call, CallResult
from offline.talk import Steps, Talk
from offline.telling import SAYS, TEXTS, Row, block, escape, exact, number, paragraphs, rows, tell
from trading.asking.words import Words, read_words

# What the words of other readers are here; of a phrase with two meanings, PLAN goes first.
_KIND_OF: Final = {
    **{"STOPLOSS": "stop", "RISK": "risk", "ACCOUNT": "equity", "LEVERAGE": "leverage"},
    **{**map_words("away", "OVER UNDER"), **map_words("word", "MAX FILLER")},
}
_LABELS: Final = word_set("stop risk equity leverage target price away trade symbol")
_CUTS: Final = frozenset(",;.!?()\n")
_ENTERS: Final = word_set("here now take go open it")  # before "at 3200"
_AT: Final = word_set("at @ from")
_SURELY_USD: Final = 20  # a bare risk above it is no percent
_MOST_FIGURES: Final = 8
# What a label says of a figure, by the figure's unit.
_OF_AMOUNT: Final = {"stop": "stop", "price": "price", "equity": "equity_usd", "target": "target", "risk": "risk_usd"}
_NAME_OF: Final[dict[str, dict[str, str]]] = {
    "%": {"stop": "away", "away": "away", "risk": "risk_pct"},
    "x": dict.fromkeys(("", "leverage", "trade", "symbol"), "leverage"),
    "$": {**_OF_AMOUNT, "trade": "size_usd", "symbol": "size_usd"},
    "": {**_OF_AMOUNT, "leverage": "leverage"},
}
# Names that exclude each other: a second stop, and what already says how large the trade is.
_SLOTS: Final = {"away": "stop", "risk_pct": "size", "risk_usd": "size", "size_usd": "size", "quantity": "size"}
_MOST_RATIO: Final = 2  # of entry and stop; beyond it one of them is something else

_CALLED: Final = read_rows(TEXTS["figures"])

_Name = tuple[str, int | None]  # of a figure, and the place of the label that says so


@dataclass(frozen=True, slots=True)
class _Word:
    """A phrase or figure of a plan: what it says, or how it stands between others.

    `odd` is a number that is no figure. Any `unknown` word in the clause of a figure ("1.5 ATR", "I risked",
    "the 50 EMA") may say that it is another one than its label does.
    """

    kind: str
    text: str
    unit: str = ""
    amount: float = 0


def read_figures(text: str, symbol: str) -> dict[str, float] | None:
    """Return the figures that a message gives for a plan in a symbol, by their names; None: not exactly one reading.

    A figure takes its name from the label on its left or on its right, across joints only; a label names one figure.
    A reading gives every figure a name, and no name twice.
    """
    words = _split(text, symbol)
    places = [at for at, word in enumerate(words) if word.kind == "figure"]
    # A clause with a figure has no word that could change it.
    clauses = ({word.kind for word in clause} for _, clause in groupby(words, lambda word: word.kind == "cut"))
    if len(places) > _MOST_FIGURES or any("odd" in kinds or {"figure", "unknown"} <= kinds for kinds in clauses):
        return None
    readings = set()
    for names in product(*(_list_names(words, at) for at in places)):
        labels = [label for _, label in names if label is not None]
        slots = {_SLOTS.get(name, name) for name, _ in names}
        if len(set(labels)) == len(labels) and len(slots) == len(names):
            readings.add(tuple(name for name, _ in names))
    if len(readings) != 1:
        return None
    read = dict(zip(readings.pop(), (words[at].amount for at in places), strict=True))
    return read if _is_plausible(read) else None


def _is_plausible(numbers: Mapping[str, float]) -> bool:
    """Tell whether the figures fit each other: "an 80 stop" may be a distance, "$500 at 10x" a margin."""
    price, stop = numbers.get("price"), numbers.get("stop")
    is_near = not price or not stop or 1 / _MOST_RATIO < stop / price < _MOST_RATIO
    return is_near and not {"size_usd", "leverage"} <= numbers.keys()


def tell_figures(numbers: Mapping[str, float]) -> str:
    """Return what was read as a line of the reply."""
    told = []
    for name, text in _CALLED.items():
        value = Decimal(str(numbers.get(name, 0)))
        p, u, n = figures.format_price(value), figures.format_usd(value), figures.format_quantity(value)
        told += [text.format(p=p, u=u, n=n)] if name in numbers else []
    return f"Read: {', '.join(told)}." if told else ""


def _split(text: str, symbol: str) -> list[_Word]:
    tokens, words, at = read_tokens(text), list[_Word](), 0
    while at < len(tokens):
        length, word = _read_word(tokens, at, symbol)
        words.append(word)
        at += length
    return words


def _read_word(tokens: Sequence[Token], at: int, symbol: str) -> tuple[int, _Word]:
    """Return how many tokens go together, and what they say."""
    token, number = tokens[at], take_number(tokens, at)
    if number is not None or token.kind == "clock":
        return _read_figure(token, number)
    if symbol and symbols_in(token.written.upper()) == [symbol]:
        return 1, _Word("symbol", token.text)
    if token.kind == "end" or token.text in _CUTS:
        return 1, _Word("cut", "")
    length, meaning = find_phrase(tokens, at, ("PLAN",)) or find_phrase(tokens, at, _KIND_OF) or (1, None)
    kind = _KIND_OF.get(meaning.concept, meaning.value) if meaning else find_meaning(token.text, "PLAN")
    after = tokens[at + length].text if at + length < len(tokens) else ""
    if meaning and meaning.concept == "MAX" and find_meaning(after, "LOSE", "RISK") is not None:
        return length + 1, _Word("risk", after)
    if kind == "sell":  # a number of coins is sold short
        kind = "trade" if after[:1] == "$" or after[:1].isdigit() or after in ("a", "some") else "unknown"
    return length, _Word(kind or ("mark" if token.kind == "mark" else "unknown"), token.text)


def _read_figure(token: Token, number: Number | None) -> tuple[int, _Word]:
    """Read a figure in digits; "25.000" may mean 25 or 25,000, so it is none."""
    whole, _, rest = token.text.lstrip("-\u2212$0").partition(".")
    is_clear = not (len(rest) == 3 and 0 < len(whole) < 4) and all(len(part) == 3 for part in whole.split(",")[1:])
    if number is None or token.kind != "digits" or not is_clear or not isinstance(number.value, Fraction):
        return number.length if number else 1, _Word("odd", token.text)
    value = abs(number.value)
    amount = int(value) if value.denominator == 1 else float(value)
    return number.length, _Word("figure" if number.unit in _NAME_OF else "odd", token.text, number.unit, amount)


def _list_names(words: Sequence[_Word], at: int) -> list[_Name]:
    """Return the names that the neighbours of a figure allow."""
    unit = words[at].unit
    left, joints, opens = _find_label(words, range(at - 1, -1, -1), {"at", "joint", "link"})
    right, links, _ = _find_label(words, range(at + 1, len(words)), {"link"})
    before, after = (words[place].kind if place is not None else "" for place in (left, right))
    before = "" if before == "symbol" and not joints & _AT else before
    is_counted = after == "symbol" and not unit and right == at + 1
    if (after == "away" and unit != "%") or (is_counted and before not in ("", "trade")):
        return []  # a distance in points or dollars; a risk in coins
    if unit == "%" and after == "equity" and before != "risk":
        return []  # a share of the account that is no risk by its words
    says = _NAME_OF[unit] if unit or words[at].amount > _SURELY_USD else {**_NAME_OF[""], "risk": ""}
    names = [(says.get(before, ""), left), (says.get(after, ""), right)]
    if unit == "x":
        return [(name, None) for name, _ in names[:1] if name]
    if unit == "%" and after == "price" and "from" in links:
        names[1] = ("away", right)
    elif after == "stop" and unit == "$":
        names[1] = ("", None)  # "an $80 stop" is a distance
    is_entered = before in ("trade", "symbol") or (not before and (opens in _ENTERS or (not opens and "in" in joints)))
    if unit != "%" and joints & _AT and is_entered:
        names[0] = ("price", None)
    elif "for" in joints and unit == "$" and not before:
        names[0] = ("size_usd", None)
    if is_counted:
        names[1] = ("quantity", right)
    return [(name, place) for name, place in names if name]


def _find_label(words: Sequence[_Word], places: range, through: Set[str]) -> tuple[int | None, set[str], str]:
    """Return the place of the next label through some kinds of words, these, and the word that ends them.

    The word is "" where the clause ends.
    """
    passed: set[str] = set()
    for place in places:
        word = words[place]
        if word.kind not in through:
            return (place if word.kind in _LABELS else None), passed, word.text
        passed.add(word.text)
    return None, passed, ""


# --- The check ---


def is_check(words: Words) -> bool:
    """Tell whether a question is about a trade that is planned."""
    is_trade = words.has("coin") and bool(words.given.get("side") or _find_side(words))
    if is_trade and words.has("-why -when -count -last -exit") and _has_stop(words.text):
        return True
    is_planned = is_trade and words.has("broken size|may")
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
        return f"You told me: {escape(limit)}. {SAYS['ask check']}" if limit else SAYS["ask check"]
    if read is None:
        return SAYS["ask names"]
    check = {name: value for name, value in read.items() if name != "target"}
    share = [word.amount for word in _split(limit, "") if word.unit == "%"]
    is_by_limit = len(share) == 1 and not {"risk_pct", "risk_usd", "size_usd", "quantity"} & check.keys()
    if is_by_limit:
        check["risk_pct"] = share[0]
    if "away" in check:
        price = check.get("price") or (yield from _find_price(symbol))
        if price is None:
            return f"I see no price of {symbol}, so I cannot place a stop in percent of it. Name its price."
        away = check.pop("away") / 100
        check["stop"] = float(f"{float(price) * (1 - away if side == 'long' else 1 + away):.6g}")
    [answer] = yield (Call(query_trades.name, {"check": {"symbol": symbol, "side": side, **check}}),)
    checked = block(answer.as_row, "check")
    told = [tell_figures(read), f"By what you told me: {escape(limit)}." if is_by_limit else ""]
    price, stop = (float(number(checked, key) or 0) for key in ("price", "stop_price"))
    if not _is_plausible({"price": price, "stop": stop}):
        return SAYS["ask names"]
    is_judged = number(checked, "size_usd") or exact(checked, "verdict") == "breaks a rule"
    return paragraphs(*told, talk.tell_errors([answer]) or (_tell_check(checked) if is_judged else SAYS["ask size"]))


def _tell_check(plan: Row) -> str:
    why = [one for one in plan.get("why") or () if isinstance(one, str)]
    # A reason begins with the rule that it is about.
    others = [one for one in rows(plan, "rules") if not any(text.startswith(f"{exact(one, 'rule')}:") for text in why)]
    return tell("check", {**plan, **block(plan, "similar")}, [*({"told": one} for one in why), *others])


def _find_price(symbol: str) -> Generator[tuple[Call, ...], list[CallResult], Decimal | None]:
    [market] = yield (Call(get_market_overview.name, {"symbols": [symbol]}),)
    return next((value for one in market.entries("markets") if (value := number(one, "last_price"))), None)


def _has_stop(text: str) -> bool:
    """Tell whether a sentence names a stop and a figure."""
    return any(word.kind == "stop" for word in _split(text, "")) and any(map(str.isdigit, text))


def _find_side(words: Words) -> str:
    """Return the side of a planned trade, "" if both are named; to sell a number of coins is a short."""
    is_sold = any(word.kind == "trade" and word.text.startswith("sell") for word in _split(words.text, ""))
    side = words.given.get("side", "")
    return "" if "," in side else side or ("short" if is_sold else "")
