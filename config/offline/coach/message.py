"""The coach's rules: questions, drafts and actions.

One message may hold several of them; each is answered in turn from the results of its tools, with their numbers.
"""

import re
from collections.abc import Iterator
from typing import Final

from config.offline.coach.actions import action_steps, choice_steps, click_steps, order_steps
from config.offline.coach.questions import question_steps
from config.offline.drafting.steps import drafting_steps, is_drafting
from config.offline.reading.sentences import QUOTED, is_question, sentences, straight, strip_lead_in
from config.offline.talk import Reply, Steps, Talk, follow_steps, one_after_another

_MAX_SENTENCE: Final = 300  # characters; longer ones are prose
_MAX_SENTENCES: Final = 12  # of a message that are read for questions
_MAX_ANSWERS: Final = 3  # to one message
# "Now, what is BTC funding" and "What's running and how is it doing" are one question each.
_ASIDE = re.compile(r"^(?:now|so|ok|okay|and|also|then|but|hey|keel|by the way|one more)[,:]?\s+", re.IGNORECASE)


def answer_as_coach(talk: Talk) -> Reply | None:
    """Answer about agents, markets, drafts and actions; None if nothing matches."""
    answered = click_steps(talk) or choice_steps(talk)
    plans = [answered] if answered is not None else list(_plans(talk))
    return follow_steps(one_after_another(plans[:_MAX_ANSWERS]), talk.results) if plans else None


def _plans(talk: Talk) -> Iterator[Steps]:
    rest: list[str] = []
    found: list[Steps] = []
    for at, sentence in enumerate(sentences(talk.text)):
        steps = _of_sentence(talk, sentence) if at < _MAX_SENTENCES else None
        if steps is None:
            rest.append(sentence)
        else:
            found.append(steps)
    draft = drafting_steps(talk, rest)
    if draft is not None:
        yield draft
    yield from found


def _of_sentence(talk: Talk, sentence: str) -> Steps | None:
    if len(sentence) > _MAX_SENTENCE or QUOTED.match(sentence):
        return None
    plain = _ASIDE.sub("", strip_lead_in(straight(sentence))).strip(" .!?;")
    is_asked = sentence.rstrip().endswith("?")
    action = action_steps(talk, plain)
    asked = question_steps(talk, plain, is_asked=True) if is_asked and action is None else action
    asked = asked or order_steps(talk, plain)
    if asked is not None or is_asked or (is_drafting(talk) and not is_question(sentence)):
        return asked
    return question_steps(talk, plain, is_asked=False)
