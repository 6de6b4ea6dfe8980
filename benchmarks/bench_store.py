"""CPU with a memory of 20,000 facts beside one of 100: saving, turns, blocks, pages, recall, document and export."""

import json
import random
import sys
from collections.abc import Callable
from uuid import uuid4

from django.utils import timezone

from benchmarks.report import Report, benchmark, size, time_cpu
from benchmarks.site import make_facts, sign_in, text, vocabulary
from chat.conversations.services import start_conversation
from chat.jobs import refresh_statistics
from chat.models import Conversation
from chat.tools import TOOLS
from chat.tools.base import ToolContext
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply
from config.lib.owned import owned, owned_tx
from memory.facts.document import build_document
from memory.facts.limits import enforce_token_limit
from memory.facts.queries import get_block
from memory.facts.services import remember_fact, render_coach_block
from memory.models import UserFact
from memory.recall.search import recall_facts
from memory.transfer.archive import iter_archive
from trading.models import Trader

SMALL, LARGE = size(100, 20), size(20_000, 200)
# The acts with a goal, and those that are shown only.
HELD = (
    *("save", "save by the coach's tool", "turn", "turn of a new chat", "REST list", "REST delete"),
    *("recall", "page", "search on the page"),
)
SHOWN = ("coach's block", "advisor's block", "companion's block", "export of all", "document", "preview")
MESSAGES = (
    *("Should I open a 10x long on ETH with {}?", "Where do I put the stop for {}?", "Is Friday evening fine for {}?"),
    *("How much should I put into {} now?", "Can you tell me about {}?", "Thanks, that helps with {}."),
)
REMEMBER = next(tool for tool in TOOLS["coach"] if tool.name == "remember")


class Acts:
    """What is measured of a user's memory, by name."""

    def __init__(self, user: Trader, words: list[str]) -> None:
        self.user, self.words, self.pick = user, words, random.Random(user.pk)
        self.client = sign_in(user)
        with owned_tx(user):
            self.chat = start_conversation(now=timezone.now())
            self.fact_ids = list(UserFact.objects.believed().values_list("pk", flat=True)[:45])
        self.by_name: dict[str, Callable[[], object]] = {
            "save": self.save,
            "save by the coach's tool": self.save_by_tool,
            "turn": lambda: self.turn(self.chat),
            "turn of a new chat": self.turn,
            "REST list": lambda: self.get("/api/facts/"),
            "REST delete": lambda: self.client.delete(f"/api/facts/{self.fact_ids.pop()}/", secure=True),
            "coach's block": lambda: self.write(lambda: render_coach_block(now=timezone.now())),
            "advisor's block": lambda: self.read(lambda: get_block("advisor", timezone.now())),
            "companion's block": lambda: self.read(lambda: get_block("companion", timezone.now())),
            "export of all": lambda: sum(map(len, iter_archive(user.pk))),
            "document": lambda: self.read(lambda: build_document(now=timezone.now())),
            "recall": lambda: self.read(lambda: recall_facts(query=self.say(4), now=timezone.now())),
            "page": lambda: self.get("/profile/facts/"),
            "search on the page": lambda: self.get("/profile/facts/?q=ba"),
            "preview": lambda: self.get("/profile/facts/preview/?assistant=advisor"),
        }

    def say(self, count: int, *, skipped: int = 40) -> str:
        return text(self.pick, self.words[skipped:], count)

    def get(self, address: str) -> object:
        return self.client.get(address, secure=True)

    def write(self, work: Callable[[], object]) -> object:
        with owned_tx(self.user):
            return work()

    def read(self, work: Callable[[], object]) -> object:
        with owned(self.user):
            return work()

    def save(self) -> object:
        content = self.say(12, skipped=0)
        return self.write(lambda: remember_fact(content=content, when_unsure="ask", now=timezone.now()))

    def save_by_tool(self) -> object:
        context = ToolContext(user_id=self.user.pk, now=timezone.now(), conversation_id=self.chat.pk)
        result = REMEMBER.call(context, json.dumps({"fact": self.say(12, skipped=0)}))
        assert "error" not in result, result
        return result

    def turn(self, chat: Conversation | None = None) -> object:
        message = self.pick.choice(MESSAGES).format(self.say(3))
        with owned_tx(self.user):
            chat = chat or start_conversation(now=timezone.now())
            accepted = accept_message(conversation_id=chat.pk, client_id=uuid4(), text=message, now=timezone.now())
            return finish_reply(reply_id=accepted.reply.pk, status="complete", parts=[], text="", now=timezone.now())


def make_acts(words: list[str], pick: random.Random, count: int) -> Acts:
    user = make_facts(pick, words, count)
    with owned_tx(user):
        enforce_token_limit(now=timezone.now())
    return Acts(user, words)


@benchmark
def main(report: Report) -> None:
    pick = random.Random(5)
    words = vocabulary(pick)
    small, large = (make_acts(words, pick, count) for count in (SMALL, LARGE))
    refresh_statistics(timezone.now())  # as the worker does each hour
    for name in (*HELD, *SHOWN):
        took = [time_cpu(acts.by_name[name]) for acts in (small, large)]
        print(f"{name}: {took[0]:.1f} ms of {SMALL:,} facts, {took[1]:.1f} ms of {LARGE:,}, {took[1] / took[0]:.1f} x")
        if name in HELD:
            report.add(name, took[1] / took[0])
        if name == "save":
            report.add("CPU of a save", took[1])


if __name__ == "__main__":
    sys.exit(main())
