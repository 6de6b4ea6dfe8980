"""Parse what a message asks of the memory: remember, forget, replace, confirm."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from config.lib.text import make_slug, normal_form, one_line
from config.lib.words.sentences import (
    CORRECTION,
    LONGEST_REQUEST,
    Pattern,
    is_question,
    parse_table,
    sentences,
    straight,
    strip_lead_in,
    strip_preface,
)
from config.offline.facts import Known, Outcome, best_matches, content_words
from config.offline.statements import Statement, read_statements
from memory.claims.judge import judge_change
from memory.claims.topics import guess_topic
from memory.claims.wishes import read_contrast
from memory.wording import MAX_CONTENT, MAX_PLACE_ID, MIN_CONTENT

MAX_ARGUMENT: Final = 500  # characters of `forget.fact_id`


@dataclass(frozen=True, slots=True)
class Request:
    """One memory request; without a tool, `choices` asks which fact."""

    tool: str = ""  # an act: remember, forget, change, confirm or place
    arguments: dict[str, Any] = field(default_factory=dict)
    choices: tuple[Known, ...] = ()


_NUMBER_WORDS: Final = r"(?:one|two|three|four|five|six|seven|eight|nine|ten)\b"
_NUMBER: Final = re.compile(rf"\d+(?:[.,:]\d+)*|\b{_NUMBER_WORDS}", re.IGNORECASE)
_TOKEN: Final = re.compile(rf"[$€£]?\d+(?:[.,:]\d+)*(?:\s?[%×]|[a-z]{{1,3}}\b)?|\b{_NUMBER_WORDS}", re.IGNORECASE)
_FORMS: Final = parse_table(
    r"""
never mind: ^(?:please )?forget (?:about )?it[.! ]*$
forget: <POLITE>(?:(?:forget|unlearn)\b|(?:stop remembering|(?:don't|do not) (?:remember|keep|store|save))\b|(?:delete
    |remove|erase|drop|scrap)\b(?=.*\b(?:memory|facts?|rules?|know about me|said|told you)\b|\s+(?:everything|all)$
    |\s+(?:that (?:I|my)|the \w+ about)\b|\s+the [\w ]+ (?:thing|bit)$))\s*(?:that(?= (?:I|my)\b)
    |the (?:part|bit|thing|fact|note) (?:about|that))?\s*(.*)
    |^(?:that|what i said|the (?:fact|rule|one
    |part)) (?:about|on) (.+?) (?:is|was) (?:wrong|incorrect|outdated|not (?:right|true|correct))([,;:].+)?$
denied: ^(?:(?:no|nope|well|actually)[,.]?\s+)?(?:that|this|it)(?:'s| is| isn't|'s not| is not)\b.*?\b(?:(?P<past>
    no longer (?:true|right|the case)|(?:not )?true any ?more)|not (?:true|right|correct)|(?<=isn't )(?:true|right
    |correct)|wrong|incorrect)\b
ended: ^(?:please )?(?:delete|remove|erase|drop) (my \S+ .+)$|^(?:that|the|my) (?:rule|fact|limit) (?:about|on|of) (.+?)
    (?:no longer|doesn't) (?:hold|appl)\w*$|^(?:that|the|my) ([\w ]{2,30}?) (?:rule|limit) is (?:gone|off|over)$
    |^(my [\w ]{2,30}?) is no longer .+$
all: ^(?:everything|all)(?: (?:facts?|memories|you know|i (?:said|told you)|about me|you know about me))*$|^me$
    |^what you know about me$|^all (?:my|the|your) (?:facts|memories)$
all about: ^(?:everything|anything|all)(?: (?:you know|i (?:said|told you)))? (?:about|on|of) (?P<what>.+)$
instead: ^(?P<old>.{2,80}?)[,;:.]\s+(?:(?:make )?it(?:'s| is)?|now|that's) (?:now )?(?P<new>.{1,60}?)(?: now)?$
pointing: ^(?:that|this|it|(?:this|that|the last) (?:one|thing|fact)|what i (?:just )?(?:said|told you))?$
change: <POLITE>(?P<verb>change|update|replace|correct|make|set|lower|raise|increase|reduce|cut|bring|move|tighten|take
    |switch|swap|put)\s+(?P<old>.+?)\s+(?:(?:up |down |back )?(?:to|with|by|for|from .+? to|=)\s+(?P<new>[^?]+?)
    |(?P<size>[$€£]?\d[\w.,%]*(?: ?%)?))(?: please| pls)?[.!]*$
one trade: \b(?:on|of|for|in) (?:this|that|the|my|an?) (?:\w+ ){0,2}(?:trade|position|order|long|short)\b
value: ^(?:(?:make|change|set|it's|it is|now|that|it|at|to)\s+){0,3}(?:[a-z]+\s+)?(?:<TOKEN>)(?: [a-z]+| at most){0,3}$
subject: ^(?:my|our|the|new)? ?(?:new )?(?!i\b)((?:[\w'-]+ ){0,5}?[\w'-]+)(?: is\b| are\b| should be\b
    | (?:goes|sits|starts|ends)\b
    |:| went \w+ to\b)|^i(?:'ve| have)? (?:now )?(?:live|moved|relocated) (?:in|to)\b
newly: \b(?:now|again|these days|from now on|switched|swapped|moved|relocated|changed|bumped|upped|raised|lowered
    |increased|reduced|halved|doubled|stopped|quit|gave up(?: on)?|un(?=follow|subscri)|no longer|any ?(?:more|longer)
    |no more(?! than))\b
holds: <YES>(?:(?:that|this|it)(?:'s| is)?\s+)?(?:still|remains?)\s+(?:holds?|true|right|correct|applies)[.! ]*$
new words: ^(?:(?:it|that|this) (?:should|must) (?:now )?(?:say|read|be)|(?:change|update|set|correct) (?:it|this
    |that) to|make (?:it|this|that)|now|instead)\b[:,]?\s*
""",
    POLITE=r"^(?:(?:please|can you|could you|would you|you can|you should|i want you to|i'd like you to)\s+){0,3}",
    YES=r"^(?:(?:yes|yep|yeah|right|correct|indeed|exactly)\b[,.!:;-]*\s+)?",
    TOKEN=_TOKEN.pattern,
)
_PLACE: Final = Pattern(
    r"""
^(?:my |our )?(?P<name>(?:home|house|flat|office|gym|work|workplace|school)(?=:|(?: address)? is .*(?:\d|\b(?:at|on)\b))
    |(?:favou?rite|usual) (?:spot|place|caf[eé]|restaurant|bar|gym|park|beach|shop))(?: address)?(?::| is)
    (?: (?:at|in|on))? (?P<notes>.+)$
^I (?P<verb>live|work) at (?P<address>\d.+)$
"""
)
_NEGATION: Final = re.compile(r"n['’]t\b|\b(?:not?|never|avoid|without|hate|stop(?:ped)?)\b", re.IGNORECASE)


def memory_requests(
    message: str, known: Sequence[Known], before: str = "", earlier: Sequence[Outcome] = ()
) -> list[Request]:
    """Return a message's memory requests, each once.

    `before` is the model's last text and `earlier` the tool calls until now: "that" points at them.
    """
    if _FORMS["never mind"].match(message.strip()):
        return []
    requests: list[Request] = []
    stated: list[str] = []
    pieces = list(sentences(message))
    pointed = point_at(known, before, earlier)
    for at, sentence in enumerate(pieces):
        plain = straight(strip_lead_in(sentence)).rstrip(" .!;")
        if _FORMS["denied"].match(plain) and read_statements("\n".join(pieces[at + 1 : at + 2])):
            # "That's wrong. My limit is 3x.": what follows says which fact is meant.
            pieces[at + 1] = f"Correction: {pieces[at + 1]}"
            continue
        is_short = len(plain) <= LONGEST_REQUEST and not plain.endswith("?")
        asked = _read_request(plain, known, pointed) if is_short else []
        requests += asked
        stated += [] if asked else [sentence]
    for statement in read_statements("\n".join(stated)):
        requests.append(replace_fact(_find_outdated(statement, known), statement))
    return [request for at, request in enumerate(requests) if request not in requests[:at]]


def read_place(sentence: str) -> Request | None:
    """Return the request to save the place that a sentence names."""
    match = _PLACE.match(sentence.rstrip(" .!"))
    if match is None:
        return None
    name = match["name"] or {"live": "home", "work": "work"}[match["verb"].casefold()]
    notes = match["notes"] or match["address"]
    slug = make_slug(name, max_length=MAX_PLACE_ID)
    return Request("place", {"place_id": slug, "place_name": name.capitalize(), "notes": notes})


def point_at(known: Sequence[Known], before: str, earlier: Sequence[Outcome]) -> Sequence[Known]:
    """Resolve "that": the last quoted fact, the last written, else all, or none when the chat spoke of other things."""
    quoted = [fact for fact in known if fact.text in before]
    by_id = {fact.id: fact for fact in known if fact.id}
    written = [o.fact_id for o in earlier if o.name in {"remember", "change", "confirm"} and o.fact_id in by_id]
    return quoted or ([by_id[written[-1]]] if written else [] if before else known)


def _read_request(plain: str, known: Sequence[Known], pointed: Sequence[Known]) -> list[Request]:
    """Parse a request to forget, to change or to keep."""
    if asked := _FORMS["forget"].match(plain):
        return _forget("".join(filter(None, asked.groups())).strip(" .!\"“”'"), known, pointed)
    if denied := _FORMS["denied"].match(plain):
        reason = "" if denied["past"] else "user_corrected"
        return [_forget_fact(pointed[0], reason) if len(pointed) == 1 else Request(choices=tuple(pointed or known))]
    if (ended := _FORMS["ended"].match(plain)) and (met := _find_named(next(filter(None, ended.groups())), known)):
        return [_forget_fact(met[0])]
    kept: Sequence[Known] = pointed if _FORMS["holds"].match(plain) else ()
    if not kept and re.search(r"\bstill\b", plain, re.IGNORECASE) and not is_question(plain):
        denies = bool(_NEGATION.search(plain))
        kept = [fact for fact in _find_named(plain, known) if bool(_NEGATION.search(fact.text)) == denies]
    if len(kept) == 1:
        return [Request("confirm", _forget_fact(kept[0]).arguments, (kept[0],))]
    return _change(plain, known, pointed)


def _find_named(words: str, known: Sequence[Known]) -> list[Known]:
    """Return the facts that have all these words, the one with no others alone."""
    same = [fact for fact in known if normal_form(fact.text) == normal_form(words)]
    return same or best_matches(words, known, least=1.0)


def _forget(what: str, known: Sequence[Known], pointed: Sequence[Known]) -> list[Request]:
    if _FORMS["all"].match(what):
        return [_forget_fact(fact) for fact in known] or [Request()]
    if (instead := _FORMS["instead"].match(what)) and (changed := _set_value(instead["old"], instead["new"], known)):
        return changed
    if _FORMS["pointing"].match(what):
        return [_forget_fact(pointed[0])] if len(pointed) == 1 else [Request(choices=tuple(pointed or known))]
    about = _FORMS["all about"].match(what)
    what = about["what"] if about else what
    if (met := _find_named(what, known)) and (about or len(met) == 1):
        return [_forget_fact(fact) for fact in met]
    near = met or best_matches(what, known, least=0.5)
    return [Request(choices=tuple(near)) if near else Request("forget", {"fact_id": what[:MAX_ARGUMENT]})]


def _change(plain: str, known: Sequence[Known], pointed: Sequence[Known]) -> list[Request]:
    """Parse "change 5x to 3x", "set my max leverage to 3x" and "make it 55"."""
    if (asked := _FORMS["change"].match(plain)) and not _FORMS["one trade"].search(plain):
        old, new = (str(part).strip(" \"“”'") for part in (asked["old"], asked["new"] or asked["size"]))
        if re.match(r"(?:my|our)\b", old, re.IGNORECASE):
            return _set_value(old, new, known)
        # "Change the stop to 3%" is about a trade, even if some fact speaks of a stop.
        is_value = _NUMBER.search(old) or re.fullmatch(
            r"(?!(?:the|a|it|this|that|all)\b)[\w/-]+(?: [\w/-]+)?", old, re.I
        )
        if is_value and asked["verb"].casefold() not in {"make", "set"}:
            return _swap(old, new, known)
    if (contrast := read_contrast(plain)) and not read_statements(plain) and (swapped := _swap(*contrast, pointed)):
        return swapped
    bare = re.sub(r",? (?:sorry|please|pls|now|actually|instead)$", "", CORRECTION.compiled.sub("", plain))
    if _FORMS["value"].match(bare) and not read_statements(plain):
        numbers = [fact for fact in pointed if replace_value(fact.text, bare) not in (None, fact.text)]
        unit = bare.casefold().rpartition(" ")[2]
        numbers = [fact for fact in numbers if unit.isalpha() and unit in fact.text.casefold().split()] or numbers
        if len(numbers) == 1 and (bare != plain or re.match(r"make\b|it's\b", plain, re.IGNORECASE)):
            return [_rewrite(numbers[0], replace_value(numbers[0].text, bare) or "")]
    return []


def _swap(old: str, new: str, known: Sequence[Known]) -> list[Request]:
    """Return the request that puts a value in the place of another, which one fact alone has."""
    literal = re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w.])", re.IGNORECASE)
    holding = [fact for fact in known if literal.search(fact.text)]
    if _NUMBER.fullmatch(old) and (number := _NUMBER.search(new)):
        new = number[0]  # "two losses, not three"
    if len(holding) != 1:
        return []
    start, rest = literal.split(holding[0].text, maxsplit=1)
    value, _, more = new.partition(" ")
    if more and rest.strip().casefold().startswith(more.casefold()):
        new = value  # "4h chart, not 1h"
    return [_rewrite(holding[0], start + new + rest)]


def replace_value(fact: str, said: str) -> str | None:
    """Return the fact with its only number replaced ("55", "3x"); None if it has not just one."""
    if len(_NUMBER.findall(fact)) != 1 or not _FORMS["value"].match(said):
        return None
    value = next(_TOKEN.finditer(said))[0]
    place = _NUMBER if _NUMBER.fullmatch(value) else _TOKEN  # a bare number keeps the unit
    return place.sub(lambda _: value, fact)


def _set_value(old: str, new: str, known: Sequence[Known]) -> list[Request]:
    """Return the request that gives "my stop" another value."""
    met = best_matches(old, known, topic=guess_topic(old), least=0.5)
    if len(met) == 1 and (text := replace_value(met[0].text, new)):
        return [_rewrite(met[0], text)]
    is_deed = len(met) == 1 and " is to " in met[0].text and re.match(r"[a-z]+ (?:at|in|by|my|the|a|to)\b", new)
    subject = old if re.match(r"my\b", old, re.IGNORECASE) else f"my {old}"
    stated = read_statements(f"Actually {subject} is {'to ' if is_deed else ''}{new}")[:1]
    return [replace_fact(_find_outdated(statement, known), statement) for statement in stated]


def _find_outdated(statement: Statement, known: Sequence[Known]) -> Known | None:
    """Return the fact that a statement corrects or replaces, if any."""
    others = [fact for fact in known if normal_form(fact.text) != normal_form(statement.text)]
    if replaced := [fact for fact in others if _excludes(fact.text, statement.text)]:
        return replaced[0]
    newly = _FORMS["newly"].search(statement.text)
    if newly is None and not statement.is_correction:
        return None
    alike = [fact for fact in others if _differs_in_one_place(fact.text, statement.text)]
    if len(alike) == 1:
        return alike[0]
    words = _TOKEN.sub(" ", _FORMS["newly"].compiled.sub(" ", statement.text))
    least = 1.0 if newly and newly[0].casefold() == "now" and not statement.is_correction else 0.5
    met = best_matches(words, others, topic=statement.topic, least=least)
    return met[0] if len(met) == 1 else None


def _differs_in_one_place(fact: str, said: str) -> bool:
    """Tell whether a text says a fact with other words in one place alone ("I get up at 7 now")."""
    old, new = (normal_form(_FORMS["newly"].compiled.sub(" ", text)).split() for text in (fact, said))
    ahead = _count_shared(old, new)
    behind = _count_shared(old[:ahead:-1], new[:ahead:-1])
    is_more = bool({"too", "also", "well"} & {*new})
    shared = content_words(" ".join([*old[:ahead], *old[len(old) - behind :]]))
    return not is_more and ahead + behind >= 0.5 * len(old) and bool(shared)


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _excludes(one: str, other: str) -> bool:
    """Tell whether two facts exclude each other: another value of a subject, or of "my goal is"."""
    a, b = _FORMS["subject"].match(one), _FORMS["subject"].match(other)
    is_same = a and b and (a[1] or "I live").casefold() == (b[1] or "I live").casefold()
    return bool(is_same) or judge_change(one, other) == "replaces"


def replace_fact(outdated: Known | None, statement: Statement) -> Request:
    """Return the request to remember a statement, instead of a fact where it makes one untrue."""
    arguments = {"fact": statement.text, "topic": statement.topic, "confidence": statement.confidence}
    given = {name: value for name, value in arguments.items() if value}
    if outdated is None:
        return Request("remember", given)
    return Request(
        "change", given | _forget_fact(outdated, "user_corrected" if statement.is_correction else "").arguments
    )


def _rewrite(fact: Known, text: str) -> Request:
    return replace_fact(fact, Statement(text, fact.topic, "asserted"))


def _forget_fact(fact: Known, reason: str = "") -> Request:
    arguments = {"fact_id": fact.id or fact.text[:MAX_ARGUMENT], "reason": reason}
    return Request("forget", {name: value for name, value in arguments.items() if value})


def read_change(fact: Known, answer: str) -> Request | None:
    """Return what the answer to "what should change?" asks of a fact, None when that is unclear."""
    if _FORMS["never mind"].match(straight(one_line(strip_lead_in(answer.strip())))):
        return _forget_fact(fact)
    requests = memory_requests(answer, [fact])
    if len(requests) == 1 and requests[0].tool in {"forget", "confirm"}:
        # "That's wrong" says that it should change, not how.
        return None if "reason" in requests[0].arguments else requests[0]
    said = next(sentences(strip_preface(one_line(answer))), "")
    marked = _FORMS["new words"].match(said)
    said = re.sub(r"\s+(?:now|instead|from now on)$", "", said[marked.end() if marked else 0 :].strip(' .!;,"“”'))
    stated = [request.arguments["fact"] for request in requests if "fact" in request.arguments]
    content = replace_value(fact.text, said) or (said[:1].upper() + said[1:] if marked else next(iter(stated), ""))
    is_fit = MIN_CONTENT <= len(content) <= MAX_CONTENT
    return replace_fact(fact, Statement(content, guess_topic(content) or fact.topic, "asserted")) if is_fit else None
