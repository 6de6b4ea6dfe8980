"""Keel's offline model: rules instead of a language model, so that the product works without any provider.

It is honest and useful: it says what it is, calls the same tools through the same loop, answers from their
results and from the facts in its prompt, and says plainly when it has no rule. Pure: the same messages and
tools give the same reply.

To teach it something: write a rule (a function from Talk to Reply or None) and name it in RULES. Rules speak of
acts, which `faces` turns into the tools of the assistant at hand.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from config.lib.offline.coach.message import answer_as_coach
from config.lib.offline.drafting.steps import of_draft
from config.lib.offline.faces import COACH_TOOLS, LOOKUPS, Call, acted, acts_of, read_memory, read_opening, spoken
from config.lib.offline.facts import Known, best_matches, content_text
from config.lib.offline.memory.acts import affirmed, asked_link, may_affirm, may_link, read_change, read_places
from config.lib.offline.memory.questions import HELP, answer_about_user, fact_lines, look_up
from config.lib.offline.memory.report import WHICH, WHICH_ONE, failure, report
from config.lib.offline.memory.requests import MAX_ARGUMENT, Request, memory_requests
from config.lib.offline.reading.pointing import pointed_lines
from config.lib.offline.reading.sentences import sentences
from config.lib.offline.reading.statements import passing_states, topic_of
from config.lib.offline.scene import read_scene
from config.lib.offline.talk import Reply, Talk
from config.lib.offline.tasks.critique import CRITIQUE, critique_answer
from config.lib.offline.tasks.extraction import TASK, extraction_answer
from config.lib.offline.tasks.reflection import REVIEW, reflection_answer
from config.lib.offline.tasks.titles import SUMMARIES, TITLES, summary_answer, title_answer
from config.lib.offline.tasks.trading import DECIDING, trading_call
from config.lib.offline.wording import FACTS_PAGE, REAL_MODEL, WHAT_I_AM, example, what_i_can
from config.lib.text import normal_form


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
    """Answer a conversation (OpenAI's message and tool format) by the first rule that applies."""
    names = [str(tool.get("function", {}).get("name")) for tool in tools]
    if DECIDING in names:
        return Reply(tool_calls=(trading_call(messages),))
    told, rest_of = _without_go_on(messages)
    talk = _read(told, names)
    reply = next((reply for rule in RULES if (reply := rule(talk)) is not None), None) or _without_rule(talk)
    if rest_of and reply.text.startswith(rest_of):
        reply = replace(reply, text=reply.text.removeprefix(rest_of))
    return replace(reply, tool_calls=tuple(spoken(call, names) for call in reply.tool_calls))


def _without_go_on(messages: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Mapping[str, Any]], str]:
    """Return the messages as they were before an answer broke off, and the part of it that was said already."""
    if not messages or messages[-1].get("role") != "user" or not _GO_ON.match(content_text(messages[-1])):
        return messages, ""
    broken = messages[-2] if len(messages) > 1 and messages[-2].get("role") == "assistant" else None
    if broken is None or broken.get("tool_calls"):
        return messages[:-1], ""
    return messages[:-2], content_text(broken)


def _read(messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> Talk:
    at = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    said = [content_text(message) for message in messages[: max(at, 0)] if message.get("role") == "assistant"]
    before = next((text for text in reversed(said) if text), "")
    memory = read_memory(messages)
    about, text = read_opening(content_text(messages[at])) if at >= 0 else (None, "")
    return Talk(
        text=text.strip(),
        before=before,
        acts=acts_of(tools),
        known=memory.facts,
        places=memory.places,
        about=about or _asked_about(before, memory.facts),
        results=acted(messages[at + 1 :]),
        earlier=acted(messages[: at + 1]),
        task=content_text(messages[0]) if messages and messages[0].get("role") == "system" else "",
        scene=read_scene(content_text(message) for message in messages if message.get("role") == "system"),
    )


def do_task(talk: Talk) -> Reply | None:
    """Answer a request that is no chat (facts, lessons, titles, summaries, reviews) in the form it asks for."""
    return next((Reply(answer(talk.text)) for task, answer in _TASKS if talk.task.startswith(task)), None)


_TASKS: tuple[tuple[str, Callable[[str], str]], ...] = (
    (TASK, extraction_answer),
    (REVIEW, reflection_answer),
    (CRITIQUE, critique_answer),
    (TITLES, title_answer),
    (SUMMARIES, summary_answer),
)


def report_results(talk: Talk) -> Reply | None:
    """After tools have written: say what was saved, forgotten or refused, then answer what was asked besides."""
    if all(outcome.name in LOOKUPS or outcome.name in COACH_TOOLS for outcome in talk.results):
        return None
    asked = answer_as_coach(talk) or answer_about_user(talk)
    if asked and asked.tool_calls:
        return asked
    parts = [*report(talk.results, talk.names), _passing_note(talk), asked.text if asked else ""]
    return Reply("\n\n".join(part for part in parts if part))


def act_on_choice(talk: Talk) -> Reply | None:
    """After "Which one should I forget?" and the like: do it with what the user points at."""
    act = next((act for act, question in WHICH.items() if question in talk.before and act in talk.acts), None)
    if act is None or talk.results:
        return None
    shown = [line[2:].strip() for line in talk.before.splitlines() if line.startswith("- ")]
    if re.match(r"(?:no(?:ne|thing)?|neither|cancel|never ?mind|stop|leave (?:it|them))\b", talk.text, re.IGNORECASE):
        return Reply(f"All right, I have {'forgotten' if act == 'forget' else 'changed'} nothing.")
    ids = {text: fact_id for fact_id, text in talk.names.items()}
    for outcome in talk.earlier:
        ids |= outcome.candidates
    pending = [o for o in talk.earlier if o.name == "change" and o.candidates and o.arguments.get("fact")]
    given = {"fact": pending[-1].arguments["fact"]} if act == "change" and pending else {}
    if act == "change" and not given:
        return None
    chosen = pointed_lines(talk.text, shown)
    calls = [Call(act, {"fact_id": ids.get(text) or text, **given}) for text in chosen]
    return Reply(tool_calls=tuple(calls)) if calls else None


def change_named_fact(talk: Talk) -> Reply | None:
    """In a chat that was opened to change one fact: change that fact, and only as the user says."""
    fact = talk.about
    if fact is None:
        return None
    change = read_change(fact, talk.text)
    forget = Request("forget", {"fact_id": _reference(fact)})
    if change.act == "keep":
        return Reply(f"All right, it stays as it is: **{fact.text}**")
    if change.act == "forget":
        return _carried_out(talk, [forget])
    if change.act == "confirm":
        return _carried_out(talk, [Request("confirm", {"fact_id": _reference(fact)})])
    if change.act == "change":
        given = {"fact": change.content, "topic": topic_of(change.content) or fact.topic, "confidence": "asserted"}
        new = Request("remember", {key: value for key, value in given.items() if value}, replaces=_reference(fact))
        return _carried_out(talk, [forget, new])
    return Reply(f"{_ASK_AGAIN}“{fact.text}”{_OR_FORGET}")


def change_memory(talk: Talk) -> Reply | None:
    """Remember, correct, forget, confirm and relate what the message asks for or states, and note its places."""
    wishes = _wishes(talk)
    if talk.can_look("list") and (wishes.requests or wishes.affirmed or wishes.is_open):
        # What was saved elsewhere since the prompt was written is to be edited, not doubled.
        return look_up("list")
    if wishes.requests:
        return _carried_out(talk, wishes.requests)
    if wishes.affirmed and "confirm" in talk.acts:
        return Reply(_choice(wishes.affirmed[0], WHICH["confirm"]))
    if wishes.affirmed:
        return Reply(f"I know this, and keep it as it is:\n\n{fact_lines(wishes.affirmed[0])}")
    if wishes.is_open and may_link(talk.text):
        return Reply("I do not find both facts. Name each by words that stand in it: “link my goal and my risk limit”.")
    if wishes.is_open:
        return Reply(
            "I find nothing I know that this affirms. If something has changed, tell me what holds now, as a plain"
            " sentence."
        )
    note = _passing_note(talk)
    return Reply(note) if note else None


def make_small_talk(talk: Talk) -> Reply | None:
    """Answer greetings, thanks and questions about the model itself."""
    if _WHAT_ARE_YOU.search(talk.text):
        return Reply(f"{WHAT_I_AM}\n\n{what_i_can(talk.acts)}\n\n{REAL_MODEL}")
    if HELP.match(talk.text):
        return Reply(f"{what_i_can(talk.acts)}\n\n{WHAT_I_AM} {REAL_MODEL}")
    if _BARE_REMEMBER.match(talk.text):
        return Reply(f"Tell me what, in one sentence: “remember that {example(talk.acts)}”.")
    if talk.word_count > 6:
        return None
    if _THANKS.match(talk.text):
        return Reply("You are welcome.")
    if _BYE.match(talk.text):
        return Reply("Goodbye. What I saved stays saved.")
    if _GREETING.match(talk.text):
        name = _name(talk.known)
        return Reply(f"Hello{f' {name}' if name else ''}. {WHAT_I_AM}\n\n{what_i_can(talk.acts)}")
    if _AGREEMENT.match(talk.text):
        return Reply("All right.")
    return None


RULES: tuple[Callable[[Talk], Reply | None], ...] = (
    do_task,
    report_results,
    act_on_choice,
    change_named_fact,
    change_memory,
    answer_as_coach,
    answer_about_user,
    make_small_talk,
)

_WHAT_ARE_YOU = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? |really |the )*(?:ai|a\.i\.|bot|robot|human|person|real|llm"
    r"|language model|gpt"
    r"|chat ?gpt|claude|gemini|model)\b|\bwhich (?:language )?model\b|\bwhat model\b|\byour name\b",
    re.IGNORECASE,
)
_BARE_REMEMBER = re.compile(r"(?:please )?remember(?: this| that| it| something)?[.!: ]*$", re.IGNORECASE)
_GREETING = re.compile(
    r"(?:hi|hello|hey|yo|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|gm)\b(?! (?:how much|what))",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:ok|okay|great|perfect|cool)[,.! ]+)?(?:thanks?|thank you|thx|ty|cheers|much appreciated)\b", re.IGNORECASE
)
_BYE = re.compile(r"(?:bye|goodbye|see you|good night|cya|later)\b", re.IGNORECASE)
_AGREEMENT = re.compile(
    r"(?:ok|okay|k|yes|yep|yeah|no|nope|sure|fine|great|perfect|cool|nice|good|got it|never ?mind"
    r"|forget (?:about )?it)[.! ]*$",
    re.IGNORECASE,
)
_GO_ON = re.compile(r"\[Not typed by the person: your answer above broke off\.")
_CALLED = re.compile(r"^(?:my name is|call me|I go by)\s+(?P<name>[^\W\d_][\w'-]*)", re.IGNORECASE)
_ASK_AGAIN = "Tell me in one sentence what holds now instead of "
_OR_FORGET = ", or say “forget it”."
_ASKED_ABOUT = re.compile(rf"^{_ASK_AGAIN}“(?P<fact>.+)”{re.escape(_OR_FORGET)}$", re.MULTILINE)


def _without_rule(talk: Talk) -> Reply:
    looked = [failure(outcome, talk.names) for outcome in talk.results if outcome.error]
    if not looked and any(outcome.name in LOOKUPS for outcome in talk.results):
        looked = ["I looked through what I know about you and found nothing for that."]
    said = f"{WHAT_I_AM} I have no rule for what you just wrote.\n\n{what_i_can(talk.acts)}\n\n{REAL_MODEL}"
    return Reply("\n\n".join([*looked, said]))


def _asked_about(before: str, known: Sequence[Known]) -> Known | None:
    asked = _ASKED_ABOUT.search(before)
    if asked is None:
        return None
    same = (fact for fact in known if normal_form(fact.text) == normal_form(asked["fact"]))
    return next(same, Known(asked["fact"], topic_of(asked["fact"])))


def _carried_out(talk: Talk, requests: Sequence[Request]) -> Reply:
    """Return the calls that requests become, or why there are none."""
    calls: list[Call] = []
    notes: list[str] = []
    for request in requests:
        if request.tool == "forget" and _is_place(request, talk):
            notes.append(f"I cannot take a place out of the memory here; you can do it on your {FACTS_PAGE}.")
        elif request.replaces and "change" in talk.acts and Call("forget", _named(request)) in map(_bare, calls):
            calls = [call for call in calls if _bare(call) != Call("forget", _named(request))]
            calls.append(Call("change", {**request.arguments, **_named(request)}))
        elif request.tool in talk.acts:
            calls.append(Call(request.tool, request.arguments))
    if calls or notes:
        return Reply("\n\n".join(notes), tuple(calls))
    for request in requests:
        if request.tool:
            return Reply(_no_tool(request))
    choices = [request for request in requests if request.choices]
    if choices:
        return Reply(_choice(choices[0].choices, WHICH_ONE))
    return Reply("I see nothing to forget: I know nothing about you in this chat yet.")


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What a message wants of the memory."""

    requests: list[Request]
    affirmed: list[list[Known]]  # facts that it affirms; several: any of them can be meant
    is_open: bool  # it affirms or relates facts that are not in view


def _wishes(talk: Talk) -> _Wishes:
    requests: list[Request] = []
    # What goes into a draft is a rule of the strategy, not of the person.
    pieces = list(sentences(talk.text))
    drafted = of_draft(talk, pieces)
    rest = "\n".join(piece for piece in pieces if piece not in drafted) if drafted else talk.text
    if "place" in talk.acts:
        places, rest = read_places(rest)
        requests += [Request("place", dict(place)) for place in places]
    groups, unaffirmed = affirmed(rest, talk.known, talk.before, talk.earlier)
    if "confirm" in talk.acts:
        requests += [Request("confirm", {"fact_id": _reference(group[0])}) for group in groups if len(group) == 1]
        rest = unaffirmed
    is_open = "confirm" in talk.acts and may_affirm(rest)
    if "link" in talk.acts:
        link, rest = asked_link(rest, talk.known)
        is_open |= may_link(talk.text)
        if link and link.one and link.other:
            ends = {"fact_id": _reference(link.one), "other_id": _reference(link.other)}
            requests.append(Request("link", {**ends, "relation": link.relation}))
    requests += memory_requests(rest, talk.known, talk.before, talk.earlier)
    return _Wishes(requests, groups, is_open)


def _named(request: Request) -> dict[str, Any]:
    return {"fact_id": request.replaces}


def _bare(call: Call) -> Call:
    return Call(call.name, {"fact_id": call.arguments.get("fact_id")})


def _is_place(request: Request, talk: Talk) -> bool:
    words = str(request.arguments.get("fact_id"))
    is_fact = any(words in {fact.id, fact.text, fact.text[:MAX_ARGUMENT]} for fact in talk.known)
    return not is_fact and bool(best_matches(words, talk.places, least=0.5))


def _reference(fact: Known) -> str:
    return fact.id or fact.text[:MAX_ARGUMENT]


def _choice(facts: Sequence[Known], question: str) -> str:
    lines = "\n".join(f"- {known.text}" for known in facts)
    return f"More than one thing I know could be meant:\n\n{lines}\n\n{question}"


def _no_tool(request: Request) -> str:
    if request.tool == "remember":
        return (
            f"I cannot save “{request.arguments['fact']}” here: this chat has no tool for it. You can add it on your"
            f" {FACTS_PAGE}."
        )
    return f"I cannot forget anything here: this chat has no tool for it. You can do it on your {FACTS_PAGE}."


def _passing_note(talk: Talk) -> str:
    passing = passing_states(talk.text)
    if not passing:
        return ""
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment."


def _name(known: list[Known]) -> str:
    return next((match["name"] for fact in known if (match := _CALLED.match(fact.text))), "")
