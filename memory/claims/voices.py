"""Find the words of others in a message by the structure in which they stand (settled 13).

Foreign is what stands in a quotation, code, a table, a mail or a copied chat, behind a label, a name, a time or an
announcement. So is a first-person clause that hangs on words of which no person speaks of themselves: "the hero
whispers I ...".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from config.lib.search.terms import STOP_WORDS
from config.lib.words.lexer import MASK, Token, find_phrase, has_phrase, read_tokens, skip_tokens
from config.lib.words.quantities import word_set
from config.lib.words.sentences import find_sentences
from config.lib.words.vocabulary import find_meaning, get_vocabulary

_LINE: Final = re.compile(r"[^\n]+")
_SYNTAX: Final = tuple(
    re.compile(pattern, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)",
        r"^[ \t]*[>\uff1e][^\n]*$",
        r"<blockquote\b.*?(?:</blockquote>|\Z)",
        r"<!--.*?(?:-->|\Z)|/\*.*?(?:\*/|\Z)",
        r"<(?P<tag>[a-z][a-z0-9]{0,20})\b[^>\n]*>.*?(?:</(?P=tag)>|(?=\n[ \t]*\n)|\Z)",
        r"`[^`\n]+`|\[[^\]\n]*\]\([^)\n]*\)|\bhttps?://\S+|\bwww\.\S+",
        r"^[ \t]*(?://|--[ \t]|;;)[^\n]*$",
        r"^(?:[^|\n]*\|){2,}[^\n]*$|^[^\t\n]+\t[^\t\n]+\t[^\n]*$",  # rows of a table
        r"(?:^[^;\n]+;(?![ \n])[^\n]*(?:\n|\Z)){2,}|(?:^[^,\n]+,(?![\s\d])[^\n]*(?:\n|\Z)){2,}",
        r"^(?: {4}|\t)(?![ \t]*[-*•])[^\n]*\S[^\n]*$",  # indented code
        r"\{(?=[^{}]*[\"']\s*:)[^{}]*\}",
        r"^[ \t]*[$%] [^\n]*(?:\n[^\n]+)*",  # a terminal
        r"^[ \t]*(?P<fence>[-=_*]{3,})[ \t]*\n.*?(?:^[ \t]*(?P=fence)[ \t]*$|\Z)|^[ \t]*\*[^*\n]+\*[ \t]*$",
        r"^[ \t]*(?:[A-Z]\w+ \||\S+ \(\d\d?:\d\d\)[ \t]*:)[^\n]*$",  # a name, or a name and a time
    )
)
# An unclosed quotation ends with its paragraph.
_QUOTATIONS: Final = tuple(
    re.compile(rf"{before}{opening}(?P<inside>.*?)(?:{closing}|(?=\n[ \t]*\n)|\Z)", re.DOTALL)
    for before, opening, closing in (
        ("", "[“„]", "[”“]"),
        ("", "«", "»"),
        ("", "「", "」"),
        ("", "『", "』"),
        ("", "《", "》"),
        (r"(?<![^\s(:,;=—–-])", '"', '"'),
        (r"(?<![^\s(:,;=—–-])", "[\u2018']", r"[’'](?!\w)"),
    )
)
# "no 'alts' for me": one or two words without a number are emphasis, not a quotation.
_LETTERS: Final = "(?:(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3])[^\\W\\d])+"
_STRESSED: Final = re.compile(rf"\s*{_LETTERS}(?:[\s-]+{_LETTERS})?\s*")
_OWN_WORDS: Final = re.compile(r"\b(?:I (?:always )?(?:say|said)|my [\w -]{0,30}?)(?: that| this| is)?[\s:,]*\Z", re.I)
_MAIL: Final = re.compile(
    r"\s*(?:-{2,}\s*(?:original|forwarded|weitergeleitete|begin)\b|fwd?:|on .{3,80} wrote:)", re.I
)
_FIELD: Final = re.compile(r"\s*(?:from|to|subject|sent|date|cc)\s*:", re.I)
_GREETING: Final = re.compile(r"\s*(?:dear|hi|hello|hey)\b(?P<whom>[^\n.!?:]{0,40}?)[,!]?\s*", re.I)
_STAMP: Final = re.compile(r"\s*[\[(]?(?:\d{1,2}:\d\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b)")
_STAMPED: Final = re.compile(r".{0,60}?(?:\d\d?:\d\d(?: ?[ap]m)?[\])]?|\bago)\W*", re.I)
_SPEECH: Final = re.compile(r"\s*\[|\s*[\[(]?\S+[ ,]+\S*\s*[—–-]\s|[^a-zA-Z]*[\w.]{1,30}:\s")
_HANDLE: Final = re.compile(r"\s*(?:@\w|u/\w|\S+ · )")
_ASIDE: Final = re.compile(r"\s*[\[(](?P<text>[^\])\n]{3,60})[\])]\s*(?=\S)")
_MARKER: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)]|[a-z]\))\s+")
_LABEL: Final = re.compile(
    r"(?:^|(?<=[.!?] ))\s*(?P<label>[^\s:][^:.!?]{0,80}?)\s*(?:(?P<colon>:)(?!\S)|\s[—–-]\s|>\s)"
)
_BEHIND: Final = re.compile(r"(?:\s[—–-]+|[.!?]?\s*\()\s*(?P<name>[^\n—–()]{2,40}?)[).]*\s*\Z")
_ME: Final = word_set("i i'm i've i'd i'll im ive we we're we've my our me mine us")
_I: Final = word_set("i i'm i've i'd i'll")
_OPENERS: Final = ("SAYS", "SOURCE", "RETELL")
_LONG_VOICE: Final = 45  # words of a paragraph without a first person: nobody states rules of their own so
_LONGEST_LINE_OF_NAMES: Final = 7  # words


def mask_others(text: str) -> tuple[str, bool]:
    """Return a message with the words of others masked, and whether it announces some for the next message."""
    masked = text.replace(MASK, " ")
    for pattern in _SYNTAX:
        masked = pattern.sub(lambda match: MASK * len(match[0]), masked)
    for pattern in _QUOTATIONS:
        masked = pattern.sub(_mask_quotation, masked)
    return _mask_lines(masked)


def _mask_quotation(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 80) : match.start()]
    if _STRESSED.fullmatch(match["inside"]) or _OWN_WORDS.search(before):
        return match[0]
    tokens = read_tokens(before)
    asked = (at for at in range(max(0, len(tokens) - 4), len(tokens)) if find_phrase(tokens, at, {"REMEMBERING"}))
    if any(skip_tokens(tokens, at, "REMEMBERING", "INTRODUCING") == len(tokens) for at in asked):
        return match[0]  # "Remember this: ..."
    return MASK * len(match[0])


# --- Lines ---


def _mask_lines(text: str) -> tuple[str, bool]:
    """Mask the lines and parts of lines that are words of others; tell whether the next message has such words."""
    lines = [match.span() for match in _LINE.finditer(text) if match[0].strip()]
    stamped = sum(bool(_STAMP.match(text[start:end])) for start, end in lines)
    pieces, done, is_open, opens_next = [], 0, False, False
    for at, (start, end) in enumerate(lines):
        line, following = text[start:end], text[slice(*lines[at + 1])] if lines[at + 1 :] else ""
        pieces.append(text[done:start])
        done = end
        if is_open or (stamped > 1 and _STAMP.match(line)):
            pieces.append(MASK * len(line))
            continue
        masked, is_open, opens_next = _read_line(line, following, is_lone="\n\n" in text[end : end + 3])
        pieces.append(masked)
    return _mask_long_voices("".join(pieces) + text[done:]), opens_next


def _read_line(line: str, following: str, *, is_lone: bool) -> tuple[str, bool, bool]:
    """Return a line with words of others masked, and whether it opens the lines below, or the next message."""
    if _is_header(line, following):
        return MASK * len(line), True, False
    if _is_attributed(line, following) or (_STAMP.match(line) and _SPEECH.match(line)):
        return MASK * len(line), False, False
    aside = _ASIDE.match(line)
    if aside is not None and not _has_first_person(aside["text"]) and not _is_plain(aside["text"]):
        return MASK * len(line), False, False
    if following and is_lone and _is_title(line):
        return line, True, False
    line, is_open = _mask_label(line, following, is_lone=is_lone)
    pieces, done = [], 0
    for start, end in find_sentences(line):
        tokens = read_tokens(line[start:end])
        words = [token.text for token in tokens if token.kind == "word"]
        pieces.append(line[done:start])
        done = end
        if is_open:
            pieces.append(MASK * (end - start))
            continue
        # What a sentence reports of others, from its speaker to its end.
        stated = start + min((tokens[at].start for at in _find_reports(tokens)), default=end - start)
        pieces += [line[start:stated], MASK * (end - stated)]
        is_last = not line[done:].strip()
        if has_phrase(tokens, "NEXTTEXT"):
            return "".join(pieces) + MASK * len(line[done:]), bool(following), True
        is_open = (
            has_phrase(tokens, "RETELL")
            or (has_phrase(tokens, "SOURCE") and ((is_last and bool(following)) or _points(tokens)))
            or (has_phrase(tokens, "SAYS") and words[-1:] in (["this"], ["that"], ["following"]))
        )
    return "".join(pieces) + line[done:], is_open, is_open and not following


def _is_header(line: str, following: str) -> bool:
    """Tell whether a line heads a mail, a letter to somebody else, or an entry of a copied chat."""
    if re.match(r"\s*#{1,6}\s", line):
        return True
    if _MAIL.match(line) or (_FIELD.match(line) and (not following or _FIELD.match(following))):
        return bool(following)
    letter = _GREETING.fullmatch(line)
    if letter is not None and following:
        return not all(token.text in _ADDRESSED or _means(token, "OWN") for token in read_tokens(letter["whom"]))
    if re.fullmatch(r"[\s\d:.,>\[\]()-]*\d\d?:\d\d[\s\d:.,>\[\]()-]*", line):
        return bool(following)  # a time alone, as above the lines of subtitles
    is_entry = bool(_HANDLE.match(line) or _STAMPED.fullmatch(line))
    is_short = len(line.split()) <= _LONGEST_LINE_OF_NAMES
    return is_entry and is_short and bool(following) and (not _is_plain(line) or len(line.split()) == 2)


def _is_attributed(line: str, following: str) -> bool:
    """Tell whether a name stands behind the words of a line, or begins the next line."""
    behind = _BEHIND.search(line)
    name = behind["name"] if behind is not None and behind.start() > 0 else ""
    if name and (_is_name(name) or has_phrase(read_tokens(name), "SOURCE")):
        return True
    below = _BEHIND.match(" " + following.strip())
    return below is not None and not following.lstrip().startswith("(") and _is_name(below["name"])


def _is_title(line: str) -> bool:
    """Tell whether a line is the heading of a text that is not the person's."""
    words = re.findall(r"[^\W\d_]+", line)
    if len(words) < 2 or line.rstrip()[-1:] in ".!?:,;" or _has_first_person(line) or _is_plain(line):
        return False
    large = sum(word[0].isupper() for word in words[1:])
    return all(map(str.isupper, words)) or large >= 2 or (large == 1 and len(words) == 2)


def _mask_label(line: str, following: str, *, is_lone: bool) -> tuple[str, bool]:
    """Mask what stands behind a label that is not the person's; tell whether what follows is foreign, too."""
    marker = _MARKER.match(line)
    begin = marker.end() if marker else 0
    match = _LABEL.search(line[begin:])
    if match is None:
        return line, False
    label, text, start = match["label"], line[begin + match.end() :], begin + match.start("label")
    if not match["colon"] and (len(label.split()) > 3 or (not label[0].isupper() and ">" not in line)):
        return line, False
    if _is_own_label(label, text):
        return line, False
    is_open = is_lone or not text.strip(" *_") or has_phrase(read_tokens(label), *_OPENERS)
    return line[:start] + MASK * (len(line) - start), is_open and bool(following or match["colon"])


def _is_own_label(label: str, text: str) -> bool:
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", label.casefold().replace("’", "'"))
    if any(word.endswith("'s") and find_meaning(word, "OWN") is None for word in words):
        return False  # "My friend's rule is: ..."
    tokens = read_tokens(label)
    if has_phrase(tokens, "SAYS", "TELLS") and words[0] not in _I | {"let", "let's", "here", "here's"}:
        return False
    if label.isupper() and len(label) > 2 and not any(_means(token, "OWN") for token in tokens):
        return False  # a speaker of a play
    if not words or words[0] in _I or not _ME.isdisjoint(words[1:]):
        return not has_phrase(tokens, "RETELL", "SOURCE", "PRESS")
    if not _is_plain(label) or has_phrase(tokens, "RETELL", "SOURCE", "PRESS"):
        return False
    # A first-person sentence behind "Max:" would be the speech of somebody called Max.
    first = next((token.text for token in read_tokens(text) if token.kind == "word"), "")
    if any(_means(token, "OWN") for token in tokens) or first not in _ME:
        return True
    return not _ME.isdisjoint(words) or all(word in STOP_WORDS and len(word) > 1 for word in words)


def _mask_long_voices(text: str) -> str:
    def mask(match: re.Match[str]) -> str:
        is_long = len(match[0]) > 4 * _LONG_VOICE and len(match[0].split()) >= _LONG_VOICE
        return MASK * len(match[0]) if is_long and not _has_first_person(match[0]) else match[0]

    return re.sub(r"(?:[^\n]|\n(?![ \t]*\n))+", mask, text)


# --- Sentences ---


def _find_reports(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the places where words of others begin."""
    last_i = max((at for at, token in enumerate(tokens) if token.text in _I), default=-1)
    begin = 0  # of the clause
    for at, token in enumerate(tokens):
        if token.kind != "word":
            begin = begin if token.kind == "digits" else at + 1
            continue
        found = find_phrase(tokens, at, _REPORTING)
        concept = found[1].concept if found else ""
        following = tokens[at + found[0]].text if found and at + found[0] < len(tokens) else ""
        is_told = following in {"that", ":"} or (following == "i" and tokens[0].text not in _ME)
        is_report = concept == "SAYS" or (concept == "TELLS" and is_told)
        if (concept == "EXAMPLE" and at < last_i) or (concept == "CITES" and following != "my"):
            yield at
        elif is_report and (speaker := _find_speaker(tokens, at)) is not None:
            is_behind = speaker and tokens[speaker - 1].text in {",", "–", "—"} and len(tokens) - at <= 3
            yield 0 if is_behind else speaker
        elif token.text in _I:
            if _is_hanging(tokens, begin, at):
                yield 0 if begin and _is_cited(tokens[:begin]) else begin
            begin = at


_REPORTING: Final = word_set("SAYS TELLS EXAMPLE CITES")
_ADDRESSED: Final = word_set("keel there again , !")
_ADVERBS: Final = word_set("also often always just once clearly explicitly never not only even still")
_MINE: Final = word_set("rule rules plan journal system strategy goal i we and to") | _I


def _find_speaker(tokens: Sequence[Token], at: int) -> int | None:
    """Return where the speaker of a reporting verb begins; None if it is the person."""
    before = at - 1
    while before >= 0 and tokens[before].text in _ADVERBS:
        before -= 1
    if before < 0 or tokens[before].kind in ("mark", "end") or tokens[before].text in _MINE:
        return None
    return before


def _is_hanging(tokens: Sequence[Token], begin: int, at: int) -> bool:
    """Tell whether a first-person clause hangs on words of which no person speaks of themselves."""
    if tokens[0].text in _ME - {"my", "our", "us"}:
        return False
    if begin and _is_cited(tokens[:begin]):
        return True
    before = tokens[begin:at]
    # A small "i" is an article in Italian.
    is_english = tokens[at].written != "i" or any(one.text in STOP_WORDS and len(one.text) > 2 for one in tokens)
    if not before or tokens[at - 1].text in _SUBORDINATING or not is_english:
        return False
    # A name behind a preposition is a place: "In Lisbon I ...".
    return not all(
        _is_common(token) or (number > 0 and token.written[:1].isupper() and before[number - 1].text in _PREPOSITIONS)
        for number, token in enumerate(before)
    )


_SUBORDINATING: Final = word_set(
    "and but so or all what how where why when while because if than before after until unless since though once"
)


def _is_cited(tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence begins with "as somebody says," or the like."""
    return tokens[0].text == "as" and not all(_is_common(token) or token.kind == "mark" for token in tokens)


_PREPOSITIONS: Final = word_set("in at on from with since near for after before during until")


def _points(tokens: Sequence[Token]) -> bool:
    """Tell whether a sentence points at what stands behind it ("saw this in a chat", "here is the reply")."""
    return not _POINTERS.isdisjoint(token.text.partition("'")[0] for token in tokens)


_POINTERS: Final = word_set("this here below these following")


# --- Words ---


def _means(token: Token, concept: str) -> bool:
    return find_meaning(token.text, concept) is not None


def _is_common(token: Token) -> bool:
    """Tell whether a word may stand in what a person says of themselves: a small word, or one that Keel knows."""
    word = token.text.replace("'", "")
    if token.kind != "word" or word in STOP_WORDS:
        return True
    return any(meaning.concept not in _FOREIGN for meaning in get_vocabulary().meanings.get(token.text, ()))


_FOREIGN: Final = word_set("SAYS TELLS SOURCE RETELL CITES UNSAID REPLY LOCATION")


def _is_plain(text: str) -> bool:
    """Tell whether all words of a text are common ones."""
    return all(map(_is_common, read_tokens(text.replace("’", "'"))))


def _is_name(text: str) -> bool:
    """Tell whether a text is the name of somebody or something that Keel does not know."""
    words = text.split()
    return (
        len(words) <= 4
        and all(word[0].isupper() or word[0].isdigit() for word in words)
        and not _is_plain(text)
        and not _has_first_person(text)
    )


def _has_first_person(text: str) -> bool:
    return any(token.text in _ME for token in read_tokens(text))
