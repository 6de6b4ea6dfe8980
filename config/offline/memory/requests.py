"""Parse memory requests: remember, forget, replace, confirm, link, keep a place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from config.lib.text import normal_form
from config.offline.facts import Known, Outcome, best_matches, content_words
from config.offline.reading.sentences import LONGEST_REQUEST, NUMBER, Pattern, sentences, straight, strip_lead_in
from config.offline.reading.statements import Statement, read_statements, topic_of

MAX_ARGUMENT = 500  # characters of `forget.fact_id`


@dataclass(frozen=True, slots=True)
class Request:
    """One memory request; without a tool, `choices` asks which fact."""

    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    choices: tuple[Known, ...] = ()
    replaces: str = ""  # to remember instead of that fact, which the request before it forgets


_POLITE: Final = r"^(?:(?:please|can you|could you|would you|you can|you should|i want you to|i'd like you to)\s+){0,3}"
_FORGET: Final = Pattern(
    _POLITE + r"(?:(?:forget|unlearn)\b|stop remembering\b|(?:delete|remove|erase|drop)\b(?=.*\b(?:memory|facts?"
    r"|know about me)\b))\s*(?P<what>.*)"
)
_FILLER: Final = Pattern(
    r"^(?:(?:about|that|the fact that|the fact|the memory|memory|facts?|of|my memory of|what i (?:said|told you) about"
    r"|what you know about)\b\s*[:,]?\s*)+|\s*(?:from|in) (?:your |the )?(?:memory|facts?)\b"
)
_ALL: Final = Pattern(
    r"^(?:everything|all)(?: (?:of it|of that|that|facts?|memories|you know|you have|i (?:said|told you)|about me"
    r"|you know about me))*$|^(?:about )?me$|^what you know about me$|^all (?:my|the|your) (?:facts|memories)$"
)
_ALL_ABOUT: Final = Pattern(
    r"^(?:everything|anything|all|all facts)(?: (?:you know|i (?:said|told you)|there is))? (?:about|on|of)"
    r" (?P<what>(?!me$|it$|that$).+)$"
)
_INSTEAD: Final = Pattern(
    r"^(?P<old>.{2,80}?)[,;:.]\s+(?:it(?:'s| is)|now it(?:'s| is)|make it|that(?:'s| is)|now)"
    r" (?:now )?(?P<new>.{1,60}?)(?: now)?$"
)
_POINTING: Final = Pattern(r"^(?:that|this|it|the last (?:one|thing|fact)|what i (?:just )?(?:said|told you))?$")
_NEVER_MIND: Final = Pattern(r"^(?:please )?forget (?:about )?it[.! ]*$")
_NOT_ANY_MORE: Final = Pattern(
    r"^(?:(?:no|nope|well|actually)[,.]?\s+)?(?:that|this|it)(?:'s| is| isn't|'s not| is not)\b.*?\b(?:no longer"
    r" (?:true|right|the case)|not (?:true|right|correct|the case)|isn't (?:true|right|correct|the case)|wrong"
    r"|incorrect|outdated|false|true any ?more)\b"
)
_OTHER_VALUE: Final = Pattern(
    r"^(?P<mine>my [\w' -]{2,40}?) (?:isn't|is not|is no longer|was never) (?P<old>[^,;]{1,60}?)(?: any ?more)?"
    r"(?:[,;]| but)\s*(?:(?:but )?(?:it(?:'s| is)|now|rather))\s+(?:now )?(?P<new>[^,;]{1,60}?)(?: now)?$"
)
_NO_LONGER: Final = Pattern(r"\b(?:no longer|any ?more)\b")
_CHANGE: Final = Pattern(
    _POLITE + r"(?P<verb>change|update|replace|correct|make|set)\s+(?P<old>.+?)\s+(?:to|with|into|by|from .+? to|=)"
    r"\s+(?P<new>[^?]+?)[.!]*$"
)
_MAKE: Final = Pattern(_POLITE + r"(?P<verb>make|set)\s+(?P<old>my .+?)\s+(?P<new>[$€£]?\d[\w.,%]*(?: ?%)?)[.!]*$")
_MY_SUBJECT: Final = Pattern(r"^(my (?:[\w'-]+ ){0,6}?)(?:is|are|=)\b")
_NOW: Final = Pattern(r"^I (?:do )?.*\bnow$")
_ONLY: Final = Pattern(r"^I (?:only|exclusively) (\w+)")
_TOKEN: Final = re.compile(r"[$€£]?\d+(?:[.,:]\d+)*(?:\s?[%×]|[a-z]{1,3}\b)?", re.IGNORECASE)
_VALUE: Final = re.compile(rf"^(?:[a-z]+\s+)?{_TOKEN.pattern}$", re.IGNORECASE)

_YES: Final = r"^(?:(?:yes|yep|yeah|yup|right|correct|indeed|exactly)\b[,.!:;-]*\s+)?"
THAT_HOLDS: Final = Pattern(
    _YES + r"(?:(?:that|this|it)(?:'s| is| does|'ll)?\s+)?(?:still|remains?)\s+"
    r"(?:holds?|true|right|correct|valid|appl(?:y|ies)|stands?|accurate|the (?:case|same|plan|rule))[.! ]*$"
)
_STILL: Final = Pattern(_YES + r"(?P<what>still\s+\S.*|(?:I|my)\b.{0,200}?\bstill\b.+)$")
_NEGATION: Final = Pattern(r"n't\b|\b(?:not?|never|avoid|without|hate|dislike|stop(?:ped)?)\b")


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
        plain = straight(strip_lead_in(sentence)).rstrip(" .!;")
        if _NOT_ANY_MORE.match(plain) and read_statements("\n".join(pieces[at + 1 : at + 2])):
            # "That's wrong. My limit is 3x.": what follows says which fact is meant.
            pieces[at + 1] = f"Correction: {pieces[at + 1]}"
            continue
        asked = [] if plain.endswith("?") else _forget_requests(plain, known, before, earlier)
        asked = asked or _change_requests(plain, known)
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


def replace_value(fact: str, said: str) -> str | None:
    """Return the fact with its only number replaced ("55", "3x"); None if it has not just one."""
    if len(NUMBER.findall(fact)) != 1 or not _VALUE.match(said):
        return None
    value = next(_TOKEN.finditer(said))[0]
    place = NUMBER if NUMBER.fullmatch(value) else _TOKEN  # a bare number keeps the unit
    return place.sub(lambda _: value, fact)


def _forget_requests(plain: str, known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> list[Request]:
    """Parse "forget ...", "that's no longer true", "I don't ... any more"."""
    if asked := _FORGET.match(plain):
        what = asked["what"].strip(" .!\"“”'")
        if _ALL.match(what):
            return [_forget_fact(fact) for fact in known] or [Request()]
        if about := _ALL_ABOUT.match(what):
            wanted = content_words(about["what"])
            met = [fact for fact in known if wanted and wanted <= content_words(f"{fact.text} {fact.topic}")]
            return [_forget_fact(fact) for fact in met] or _forget_words(about["what"], known)
        if (instead := _INSTEAD.match(what)) and (changed := _set_value(instead["old"], instead["new"], known)):
            return changed
        what = _FILLER.compiled.sub("", what).strip(" .!\"“”'")
        return _forget_pointed(known, before, earlier) if _POINTING.match(what) else _forget_words(what, known)
    if _NOT_ANY_MORE.match(plain):
        is_outdated = re.search(r"no longer|any ?more|outdated", plain, re.IGNORECASE)
        return _forget_pointed(known, before, earlier, "agent_forget" if is_outdated else "user_corrected")
    if other := _OTHER_VALUE.match(plain):
        text = f"{other['mine'][:1].upper()}{other['mine'][1:]} is {other['new']}"
        statement = Statement(text, topic_of(text), "asserted", True)
        return _replace_facts(_outdated_by(statement, known, "agent_forget"), statement)
    if _NO_LONGER.search(plain) and plain.lower().startswith(("i ", "my ", "i'm ")):
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
        bare = " ".join(word for word in words.split() if word.casefold() not in {"limit", "rule", "setting", "value"})
        if len(sure := best_matches(bare, known, least=1.0)) == 1 and bare != words:
            return [_forget_fact(sure[0])]
        return [Request(choices=tuple(near))]
    return [Request("forget", {"fact_id": words[:MAX_ARGUMENT]})]


def _change_requests(plain: str, known: Sequence[Known]) -> list[Request]:
    """Parse "change 5x to 3x" and "set my max leverage to 3x"."""
    change = _CHANGE.match(plain) or _MAKE.match(plain)
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
    return _set_value(old, new, known) if is_mine else []


def _set_value(old: str, new: str, known: Sequence[Known]) -> list[Request]:
    """Return the requests that give "my stop" another value."""
    met = best_matches(old, known, topic=topic_of(old), least=0.5)
    if len(met) == 1 and (text := replace_value(met[0].text, new)) and not old.casefold().startswith("my max"):
        return _replace_facts([_forget_fact(met[0])], Statement(text, met[0].topic, "asserted"))
    is_deed = len(met) == 1 and re.match(r"my [\w ]+ is to \w", met[0].text, re.IGNORECASE)
    subject = old if re.match(r"my\b", old, re.IGNORECASE) else f"my {old}"
    wanted = f"to {new}" if is_deed and re.match(r"[a-z]+ (?:at|in|by|my|the|a|to)\b", new) else new
    statement = next(iter(read_statements(f"{subject} is {wanted}")), None)
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
        changed = best_matches(statement.text, others, least=1.0) if _NOW.search(statement.text) else []
        return [_forget_fact(changed[0])] if len(changed) == 1 else []
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


# --- Affirming ---


def find_affirmed(
    message: str, known: Sequence[Known], before: str = "", earlier: Sequence[Outcome] = ()
) -> tuple[list[list[Known]], str]:
    """Return the affirmed facts, ambiguous ones together, and the rest."""
    groups, rest = [], []
    for sentence in sentences(message):
        facts = _match_affirmed(straight(strip_lead_in(sentence)), known, before, earlier)
        if facts and not sentence.endswith("?"):
            groups.append(facts)
        else:
            rest.append(sentence)
    return groups, "\n".join(rest) if groups else message


def may_affirm(message: str) -> bool:
    """Tell whether a message may affirm a fact."""
    plain = (straight(strip_lead_in(sentence)) for sentence in sentences(message) if not sentence.endswith("?"))
    return any(THAT_HOLDS.match(text) or _STILL.match(text) for text in plain if len(text) <= LONGEST_REQUEST)


def _match_affirmed(plain: str, known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> list[Known]:
    if len(plain) > LONGEST_REQUEST:
        return []
    if THAT_HOLDS.match(plain):
        return list(pointed_at(known, before, earlier))
    match = _STILL.match(plain)
    facts = [fact for fact in known if _can_mean(fact.text, match["what"])] if match else []
    return best_matches(match["what"], facts, topic=topic_of(match["what"]), least=0.6) if match else []


def _can_mean(fact: str, words: str) -> bool:
    """Tell whether words may affirm a fact: same polarity and numbers."""
    denies_alike = bool(_NEGATION.search(straight(fact))) == bool(_NEGATION.search(words))
    return denies_alike and set(NUMBER.findall(words)) <= set(NUMBER.findall(fact))
