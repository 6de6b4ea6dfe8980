"""Parse what a message asks of the memory: remember, forget, replace, confirm."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final

from config.lib.text import make_slug, normal_form, one_line
from config.lib.words.lexer import find_phrases, read_tokens, take_number
from config.lib.words.sentences import (
    LONGEST_REQUEST,
    is_question,
    sentences,
    straight,
    strip_correction,
    strip_lead_in,
    strip_preface,
)
from memory.claims.judge import judge_change
from memory.claims.topics import guess_topic
from memory.claims.wishes import list_wishes, read_contrast
from memory.wording import MAX_CONTENT, MAX_PLACE_ID, MIN_CONTENT
from offline.messages import CallResult, FactLine, best_matches, content_words
from offline.statements import read_statements
from offline.telling import FORMS

MAX_ARGUMENT: Final = 500  # characters of `forget.fact_id`


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """One memory request; without a tool, `choices` asks which fact."""

    tool: str = ""  # an act: remember, forget, change, confirm or place
    arguments: dict[str, Any] = field(default_factory=dict)
    choices: tuple[FactLine, ...] = ()


_FORMS, _PLACE = FORMS["requests to the memory"], FORMS["places"]


def memory_requests(
    message: str, known: Sequence[FactLine], before: str = "", earlier: Sequence[CallResult] = ()
) -> list[MemoryRequest]:
    """Return a message's memory requests, each once.

    `before` is the model's last text and `earlier` the tool calls until now: "that" points at them.
    """
    if "never mind" in _FORMS.read(message.strip(" .!")):
        return []
    requests: list[MemoryRequest] = []
    stated: list[str] = []
    pieces = list(sentences(message))
    pointed = point_at(known, before, earlier)
    for at, sentence in enumerate(pieces):
        plain = straight(strip_lead_in(sentence)).rstrip(" .!;")
        said = _FORMS.read(plain)
        if ("denied" in said or "outdated" in said) and read_statements("\n".join(pieces[at + 1 : at + 2])):
            # "That's wrong. My limit is 3x.": what follows says which fact is meant.
            pieces[at + 1] = f"Correction: {pieces[at + 1]}"
            continue
        if stated and "joke" in said:  # it takes back the sentence before it
            stated.pop()
            continue
        is_short = len(plain) <= LONGEST_REQUEST and not plain.endswith("?")
        asked = _read_request(plain, known, pointed) if is_short else []
        requests += asked
        stated += [] if asked else [sentence]
    for statement in read_statements("\n".join(stated)):
        requests.append(replace_fact(_find_outdated(statement, known), statement))
    return [request for at, request in enumerate(requests) if request not in requests[:at]]


def read_place(sentence: str) -> MemoryRequest | None:
    """Return the request to save the place that a sentence names."""
    found = _PLACE.read(sentence.rstrip(" .!")).find("place")
    if found is None:
        return None
    name = "home" if found["name"].casefold() == "live" else found["name"]
    slug = make_slug(name, max_length=MAX_PLACE_ID)
    return MemoryRequest("place", {"place_id": slug, "place_name": name.capitalize(), "notes": found["notes"]})


def point_at(known: Sequence[FactLine], before: str, earlier: Sequence[CallResult]) -> Sequence[FactLine]:
    """Resolve "that": the last quoted fact, the last written, else all, or none when the chat spoke of other things."""
    quoted = [fact for fact in known if fact.text in before]
    by_id = {fact.id: fact for fact in known if fact.id}
    written = [o.fact_id for o in earlier if o.name in {"remember", "change", "confirm"} and o.fact_id in by_id]
    return quoted or ([by_id[written[-1]]] if written else [] if before else known)


def _read_request(plain: str, known: Sequence[FactLine], pointed: Sequence[FactLine]) -> list[MemoryRequest]:
    """Parse a request to forget, to change or to keep."""
    said = _FORMS.read(plain)
    if untrue := said.find("untrue"):
        return _forget(untrue["what"] + untrue["more"], known, pointed)
    for wish in list_wishes(plain) if "wished" in said else ():
        what = (_FORMS.read(wish).find("wish") or {"what": wish})["what"].strip(" .!\"“”'")
        if "forgetting" in said:
            return _forget(what, known, pointed)
        if "own" in _FORMS.read(what) and (met := _find_named(what, known)):
            return [_forget_fact(met[0])]
    if "joke" in said:
        return [_forget_fact(fact, "user_corrected") for fact in pointed[:1] if len(pointed) == 1]
    if "outdated" in said or "denied" in said:
        reason = "" if "outdated" in said else "user_corrected"
        return _forget_one(pointed, known, reason)
    if (ended := said.find("ended")) and (met := _find_named(ended["what"], known)):
        return [_forget_fact(met[0])]
    kept: Sequence[FactLine] = pointed if "holds" in said else ()
    if not kept and "still" in said and not is_question(plain):
        denies = "denies" in said
        named = _find_named(plain, known)[:_FEW]
        kept = [fact for fact in named if ("denies" in _FORMS.read(fact.text)) == denies]
    if len(kept) == 1:
        return [MemoryRequest("confirm", _forget_fact(kept[0]).arguments, (kept[0],))]
    return _change(plain, known, pointed)


_FEW: Final = 5  # facts that fit equally well
_normalise: Final = lru_cache(maxsize=1_024)(normal_form)


def _find_named(words: str, known: Sequence[FactLine]) -> list[FactLine]:
    """Return the facts that have all these words, the one with no others alone."""
    wanted = normal_form(words)
    same = [fact for fact in known if _normalise(fact.text) == wanted]
    return same or best_matches(words, known, least=1.0)


def _forget(what: str, known: Sequence[FactLine], pointed: Sequence[FactLine]) -> list[MemoryRequest]:
    said = _FORMS.read(what)
    if "all" in said:
        return [_forget_fact(fact) for fact in known] or [MemoryRequest()]
    if (instead := said.find("instead")) and (changed := _set_value(instead["old"], instead["new"], known)):
        return changed
    if "pointing" in said:
        return _forget_one(pointed, known)
    about = said.find("all about")
    what = about["what"] if about else what
    if (met := _find_named(what, known)) and (about or len(met) == 1):
        return [_forget_fact(fact) for fact in met]
    near = met or best_matches(what, known, least=0.5)
    return [MemoryRequest(choices=tuple(near)) if near else MemoryRequest("forget", {"fact_id": what[:MAX_ARGUMENT]})]


def _forget_one(pointed: Sequence[FactLine], known: Sequence[FactLine], reason: str = "") -> list[MemoryRequest]:
    """Return the request to forget "that"; where several facts may be meant, the question which one."""
    return [_forget_fact(pointed[0], reason) if len(pointed) == 1 else MemoryRequest(choices=tuple(pointed or known))]


def _change(plain: str, known: Sequence[FactLine], pointed: Sequence[FactLine]) -> list[MemoryRequest]:
    """Parse "change 5x to 3x", "set my max leverage to 3x" and "make it 55"."""
    said = _FORMS.read(plain)
    if (asked := said.find("change")) and "one trade" not in said:
        old, new = (asked[part].strip(" \"“”'") for part in ("old", "new"))
        if old.casefold().startswith(("my ", "our ")):
            return _set_value(old, new, known)
        # "Change the stop to 3%" is about a trade, even if some fact speaks of a stop.
        is_value = _find_figures(old) or "noun" in _FORMS.read(old)
        if is_value and asked["verb"].casefold() not in {"make", "set"}:
            return _swap(old, new, known)
    if (contrast := read_contrast(plain)) and not read_statements(plain) and (swapped := _swap(*contrast, pointed)):
        return swapped
    bare = strip_correction(plain)
    bare = (_FORMS.read(bare).find("bare") or {"said": bare})["said"]
    if "value" in _FORMS.read(bare) and not read_statements(plain):
        numbers = [fact for fact in pointed if replace_value(fact.text, bare) not in (None, fact.text)]
        unit = bare.casefold().rpartition(" ")[2]
        numbers = [fact for fact in numbers if unit.isalpha() and unit in fact.text.casefold().split()] or numbers
        if len(numbers) == 1 and (bare != plain or plain.casefold().startswith(("make ", "it's "))):
            return [_rewrite(numbers[0], replace_value(numbers[0].text, bare) or "")]
    return []


def _swap(old: str, new: str, known: Sequence[FactLine]) -> list[MemoryRequest]:
    """Return the request that puts a value in the place of another, which one fact alone has."""
    literal = re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w.])", re.IGNORECASE)
    holding = [fact for fact in known if literal.search(fact.text)]
    if _find_figures(old)[:1] == [(0, len(old), len(old))] and (figures := _find_figures(new)):
        new = new[figures[0][0] : figures[0][1]]  # "two losses, not three"
    if len(holding) != 1:
        return []
    start, rest = literal.split(holding[0].text, maxsplit=1)
    value, _, more = new.partition(" ")
    if more and rest.strip().casefold().startswith(more.casefold()):
        new = value  # "4h chart, not 1h"
    return [_rewrite(holding[0], start + new + rest)]


def replace_value(fact: str, said: str) -> str | None:
    """Return the fact with its only number replaced ("55", "3x"); None if it has not just one."""
    figures = _find_figures(fact)
    if len(figures) != 1 or "value" not in _FORMS.read(said):
        return None
    [(start, end, after)], (first, middle, last) = figures, _find_figures(said)[0]
    is_bare = middle == last  # it keeps the unit
    return f"{fact[:start]}{said[first:last]}{fact[end if is_bare else after :]}"


def _set_value(old: str, new: str, known: Sequence[FactLine]) -> list[MemoryRequest]:
    """Return the request that gives "my stop" another value."""
    met = best_matches(old, known, topic=guess_topic(old), least=0.5)
    if len(met) == 1 and (text := replace_value(met[0].text, new)):
        return [_rewrite(met[0], text)]
    is_deed = len(met) == 1 and " is to " in met[0].text and "deed" in _FORMS.read(new)
    subject = old if old.casefold().startswith("my ") else f"my {old}"
    stated = read_statements(f"Actually {subject} is {'to ' if is_deed else ''}{new}")[:1]
    return [replace_fact(_find_outdated(statement, known), statement) for statement in stated]


def _find_outdated(statement: FactLine, known: Sequence[FactLine]) -> FactLine | None:
    """Return the fact that a statement corrects or replaces, if any."""
    others = [fact for fact in known if normal_form(fact.text) != normal_form(statement.text)]
    if replaced := [fact for fact in others if _excludes(fact.text, statement.text)]:
        return replaced[0]
    [newly, *_] = [*find_phrases(statement.text, "NEWLY"), None]
    if newly is None and not statement.is_correction:
        return None
    alike = [fact for fact in others if _differs_in_one_place(fact.text, statement.text)]
    if len(alike) == 1:
        return alike[0]
    words = _cut_newly(statement.text)
    for start, _, after in reversed(_find_figures(words)):
        words = f"{words[:start]} {words[after:]}"
    least = (
        1.0
        if newly and statement.text[newly[0] : newly[1]].casefold() == "now" and not statement.is_correction
        else 0.5
    )
    met = best_matches(words, others, topic=statement.topic, least=least)
    return met[0] if len(met) == 1 else None


def _differs_in_one_place(fact: str, said: str) -> bool:
    """Tell whether a text says a fact with other words in one place alone ("I get up at 7 now")."""
    old, new = (normal_form(_cut_newly(text)).split() for text in (fact, said))
    ahead = _count_shared(old, new)
    behind = _count_shared(old[:ahead:-1], new[:ahead:-1])
    is_more = bool({"too", "also", "well"} & {*new})
    shared = content_words(" ".join([*old[:ahead], *old[len(old) - behind :]]))
    return not is_more and ahead + behind >= 0.5 * len(old) and bool(shared)


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _excludes(one: str, other: str) -> bool:
    """Tell whether two facts exclude each other: another value of a subject, or of "my goal is"."""
    a, b = (_FORMS.read(text).find("subject") for text in (one, other))
    is_same = a is not None and b is not None and a.get("what", "").casefold() == b.get("what", "").casefold()
    return is_same or judge_change(one, other) == "replaces"


def replace_fact(outdated: FactLine | None, statement: FactLine) -> MemoryRequest:
    """Return the request to remember a statement, instead of a fact where it makes one untrue."""
    confidence = "inferred" if statement.inferred else "asserted"
    arguments = {"fact": statement.text, "topic": statement.topic, "confidence": confidence}
    given = {name: value for name, value in arguments.items() if value}
    if outdated is None:
        return MemoryRequest("remember", given)
    return MemoryRequest(
        "change", given | _forget_fact(outdated, "user_corrected" if statement.is_correction else "").arguments
    )


def _rewrite(fact: FactLine, text: str) -> MemoryRequest:
    return replace_fact(fact, FactLine(text, fact.topic))


def _forget_fact(fact: FactLine, reason: str = "") -> MemoryRequest:
    arguments = {"fact_id": fact.id or fact.text[:MAX_ARGUMENT], "reason": reason}
    return MemoryRequest("forget", {name: value for name, value in arguments.items() if value})


def read_change(fact: FactLine, answer: str) -> MemoryRequest | None:
    """Return what the answer to "what should change?" asks of a fact, None when that is unclear."""
    if "never mind" in _FORMS.read(one_line(strip_lead_in(answer.strip(" .!")))):
        return _forget_fact(fact)
    requests = memory_requests(answer, [fact])
    if len(requests) == 1 and requests[0].tool in {"forget", "confirm"}:
        # "That's wrong" says that it should change, not how.
        return None if "reason" in requests[0].arguments else requests[0]
    said = next(sentences(strip_preface(one_line(answer))), "")
    marked = _FORMS.read(said).find("new words")
    said = (marked["new"] if marked else said).strip(' .!;,"“”')
    said = (_FORMS.read(said).find("bare") or {"said": said})["said"]
    stated = [request.arguments["fact"] for request in requests if "fact" in request.arguments]
    content = replace_value(fact.text, said) or (said[:1].upper() + said[1:] if marked else next(iter(stated), ""))
    is_fit = MIN_CONTENT <= len(content) <= MAX_CONTENT
    return replace_fact(fact, FactLine(content, guess_topic(content) or fact.topic)) if is_fit else None


def _find_figures(text: str) -> list[tuple[int, int, int]]:
    """Return where numbers begin, behind a sign of money, where they end, and where their units do."""
    tokens, at, found = read_tokens(text), 0, list[tuple[int, int, int]]()
    while at < len(tokens):
        number, token = take_number(tokens, at), tokens[at]
        length = number.length if number else 1
        if number or token.kind == "clock":
            start, after = token.end - len(token.written.lstrip("$€£")), tokens[at + length - 1].end
            found.append((start, token.end if token.kind == "digits" else after, after))
        at += length
    return found


def _cut_newly(text: str) -> str:
    for start, end, _ in reversed([*find_phrases(text, "NEWLY")]):
        text = f"{text[:start]} {text[end:]}"
    return text
