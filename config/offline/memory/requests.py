"""Parse memory requests: remember, forget, replace."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from config.lib.text import normal_form
from config.offline.facts import Known, Outcome, best_matches, content_words
from config.offline.reading.patterns import NUMBER
from config.offline.reading.sentences import sentences, strip_lead_in
from config.offline.reading.statements import Statement, read_statements, topic_of

MAX_ARGUMENT = 500  # characters of `forget.fact_id`


@dataclass(frozen=True, slots=True)
class Request:
    """One memory request; without a tool, `choices` asks which fact."""

    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    choices: tuple[Known, ...] = ()
    replaces: str = ""  # to remember instead of that fact, which the request before it forgets


_POLITE = r"^(?:(?:please|can you|could you|would you|you can|you should|i want you to|i'd like you to)\s+){0,3}"
_FORGET = re.compile(
    _POLITE + r"(?:(?:forget|unlearn)\b|stop remembering\b|(?:delete|remove|erase|drop)\b(?=.*\b(?:memory|facts?"
    r"|know about me)\b))"
    r"\s*(?P<what>.*)",
    re.IGNORECASE,
)
_FORGET_FILLER = re.compile(
    r"^(?:(?:about|that|the fact that|the fact|the memory|memory|facts?|of|my memory of|what i (?:said|told you) about"
    r"|what you know about|everything about|anything about|all about)\b\s*[:,]?\s*)+|\s*(?:from|in) (?:your "
    r"|the )?(?:memory|facts?)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"^(?:everything|all)(?: (?:of it|of that|that|facts?|memories|you know|you have|i (?:said|told you)|about me"
    r"|you know about me))*$|^(?:about )?me$|^what you know about me$|^all (?:my|the|your) (?:facts|memories)$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"^(?:that|this|it|the last (?:one|thing|fact)|what i (?:just )?(?:said|told you))?$", re.IGNORECASE
)
_NEVER_MIND = re.compile(r"^(?:please )?forget (?:about )?it[.! ]*$", re.IGNORECASE)
_NOT_ANY_MORE = re.compile(
    r"^(?:(?:no|nope|well|actually)[,.]?\s+)?(?:that|this|it)(?:'s| is| isn't|'s not"
    r"| is not)\b.*?\b(?:no longer (?:true|right|the case)|not (?:true|right|correct|the case)|isn't (?:true|right"
    r"|correct|the case)|wrong|incorrect|outdated|false|true any ?more)\b",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"\b(?:no longer|any ?more)\b", re.IGNORECASE)
_CHANGE = re.compile(
    _POLITE + r"(?P<verb>change|update|replace|correct|make|set)\s+(?P<old>.+?)\s+(?:to|with|into|by|from .+? to"
    r"|=)\s+(?P<new>[^?]+?)[.!]*$",
    re.IGNORECASE,
)
_MY_SUBJECT = re.compile(r"^(my (?:[\w'-]+ ){0,6}?)(?:is|are|=)\b", re.IGNORECASE)
_ONLY = re.compile(r"^I (?:only|exclusively) (\w+)", re.IGNORECASE)


def memory_requests(
    message: str, known: Sequence[Known], before: str = "", earlier: Sequence[Outcome] = ()
) -> list[Request]:
    """Return a message's memory requests, each once, forgets first.

    `before` is the model's last text and `earlier` the tool calls until now: "that" points at them.
    """
    if _NEVER_MIND.match(message.strip()):
        return []
    requests: list[Request] = []
    stated: list[str] = []
    pieces = list(sentences(message))
    for at, sentence in enumerate(pieces):
        plain = strip_lead_in(sentence).replace("’", "'").rstrip(" .!;")
        if _NOT_ANY_MORE.match(plain) and read_statements("\n".join(pieces[at + 1 : at + 2])):
            # "That's wrong. My limit is 3x.": what follows says which fact is meant.
            pieces[at + 1] = f"Correction: {pieces[at + 1]}"
            continue
        asked = _forget_requests(plain, known, before, earlier) or _change_requests(plain, known)
        requests += asked
        if not asked:
            stated.append(sentence)
    for statement in read_statements("\n".join(stated)):
        requests += _replace_facts(_outdated_by(statement, known), statement)
    return [request for at, request in enumerate(requests) if request not in requests[:at]]


def pointed_at(known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> Sequence[Known]:
    """Resolve "that": the last quoted fact, the last written, or all."""
    quoted = [fact for fact in known if fact.text in before]
    by_id = {fact.id: fact for fact in known if fact.id}
    written = [o.fact_id for o in earlier if o.name in {"remember", "change", "confirm"} and o.fact_id in by_id]
    return quoted or ([by_id[written[-1]]] if written else known)


def _forget_requests(plain: str, known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> list[Request]:
    """Parse "forget ...", "that's no longer true", "I don't ... any more"."""
    asked = _FORGET.match(plain)
    if asked and not plain.endswith("?"):
        what = asked["what"].strip(" .!\"“”'")
        if _ALL.match(what):
            return [_forget_fact(fact) for fact in known] or [Request()]
        what = _FORGET_FILLER.sub("", what).strip(" .!\"“”'")
        return _forget_pointed(known, before, earlier) if _POINTING.match(what) else _forget_words(what, known)
    if _NOT_ANY_MORE.match(plain):
        is_outdated = re.search(r"no longer|any ?more|outdated", plain, re.IGNORECASE)
        return _forget_pointed(known, before, earlier, "agent_forget" if is_outdated else "user_corrected")
    if _NO_LONGER.search(plain) and plain.lower().startswith(("i ", "my ", "i'm ")) and not plain.endswith("?"):
        matches = best_matches(plain, known, topic=topic_of(plain), least=0.5)
        if len(matches) == 1:
            outdated, statements = [_forget_fact(matches[0])], read_statements(plain)
            first = _replace_facts(outdated, statements[0]) if statements else outdated
            return [*first, *map(remember_statement, statements[1:])]
    return []


def _forget_pointed(
    known: Sequence[Known], before: str, earlier: Sequence[Outcome], reason: str = "agent_forget"
) -> list[Request]:
    meant = pointed_at(known, before, earlier)
    return [_forget_fact(meant[0], reason)] if len(meant) == 1 else [Request(choices=tuple(meant))]


def _forget_words(words: str, known: Sequence[Known]) -> list[Request]:
    meant = normal_form(words)
    literal = [fact for fact in known if normal_form(fact.text) == meant]
    matches = literal or best_matches(words, known, least=1.0)
    if len(matches) == 1:
        return [_forget_fact(matches[0])]
    # With words missing, it may be another fact that is meant.
    if near := matches or best_matches(words, known, least=0.5):
        return [Request(choices=tuple(near))]
    return [Request("forget", {"fact_id": words[:MAX_ARGUMENT]})]


def _change_requests(plain: str, known: Sequence[Known]) -> list[Request]:
    """Parse "change 5x to 3x" and "set my max leverage to 3x"."""
    change = _CHANGE.match(plain)
    if change is None:
        return []
    old, new = change["old"].strip(" \"“”'"), change["new"].strip(" \"“”'")
    literal = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
    # "Change the stop to 3%" is about a trade, even if some fact speaks of a stop.
    is_telling = NUMBER.search(old) is not None and change["verb"].casefold() not in {"make", "set"}
    holding = [
        fact
        for fact in known
        if literal.search(fact.text) and (is_telling or 2 * len(content_words(old)) >= len(content_words(fact.text)))
    ]
    is_mine = re.match(r"my\b", old, re.IGNORECASE)
    if len(holding) == 1 and not is_mine:
        text = literal.sub(lambda _: new, holding[0].text, count=1)
        return _replace_facts([_forget_fact(holding[0])], Statement(text, holding[0].topic, "asserted"))
    statement = next(iter(read_statements(f"{old} is {new}")), None) if is_mine else None
    if statement is None:
        return []
    changed = Statement(statement.text, statement.topic, "asserted", True)
    return _replace_facts(_outdated_by(changed, known, "agent_forget"), statement)


def _outdated_by(statement: Statement, known: Sequence[Known], reason: str = "user_corrected") -> list[Request]:
    """Find the fact that a statement corrects or replaces."""
    same_words = normal_form(statement.text)
    others = [fact for fact in known if normal_form(fact.text) != same_words]
    same = [fact for fact in others if _says_the_same_of_another(fact.text, statement.text)]
    if same:
        return [_forget_fact(same[0], reason if statement.is_correction else "agent_forget")]
    if not statement.is_correction:
        return []
    words = " ".join(word for word in content_words(statement.text) if not NUMBER.search(word))
    matches = best_matches(words, others, topic=statement.topic, least=0.5)
    return [_forget_fact(matches[0], reason)] if len(matches) == 1 else []


def _says_the_same_of_another(one: str, other: str) -> bool:
    """Tell whether two facts exclude each other: "my goal is A/B"."""
    for pattern in (_MY_SUBJECT, _ONLY):
        a, b = pattern.match(one), pattern.match(other)
        if a and b and a[1].casefold() == b[1].casefold():
            return True
    shape = normal_form(NUMBER.sub("0", one))
    return "0" in shape and shape == normal_form(NUMBER.sub("0", other))


def _replace_facts(outdated: list[Request], statement: Statement) -> list[Request]:
    replaces = outdated[0].arguments["fact_id"] if outdated else ""
    return [*outdated, remember_statement(statement, replaces)]


def remember_statement(statement: Statement, replaces: str = "") -> Request:
    """Return the request to remember a statement."""
    arguments = {"fact": statement.text, "topic": statement.topic, "confidence": statement.confidence}
    return Request("remember", {name: value for name, value in arguments.items() if value}, replaces=replaces)


def find_reference(fact: Known) -> str:
    """Return the words by which a tool finds a fact."""
    return fact.id or fact.text[:MAX_ARGUMENT]


def _forget_fact(fact: Known, reason: str = "agent_forget") -> Request:
    arguments = {"fact_id": find_reference(fact)}
    return Request("forget", arguments if reason == "agent_forget" else {**arguments, "reason": reason})
