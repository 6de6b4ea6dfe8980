from django.core.management.base import CommandParser
from django.utils import timezone

from chat.rules import follow_facts
from config.lib.owned import owned, owned_tx
from config.lib.words.rules import parse_rule
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from trading.rules.services import list_rule_records, list_rules


class Command(KeelCommand):
    help = (
        "Print the facts of a user that are rules of trading: how Keel reads each, whether it is confirmed, and how"
        " many trades kept and broke it. Facts that sound like a rule and are not read follow, with the reason."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)

    def run(self, *, user: str, **options: object) -> None:
        owner = get_user_by_email(user)
        with owned_tx(owner):
            unread = follow_facts(now=timezone.now())
        with owned(owner):  # judging a long record keeps no writer waiting
            counts = {one.row.pk: {verdict: number for _, verdict, number in one.counts} for one in list_rule_records()}
            rules = list_rules()
        for row in rules:
            reading, judged = parse_rule(row.payload).describe(), counts.get(row.pk, {})
            record = f"; {judged['kept']} kept, {judged['broken']} broken" if judged else ""
            text = f"{reading} ({row.get_state_display().lower()}){record}: {row.words}"
            self.say(text, rule=reading, state=row.state, fact=row.words, fact_id=str(row.fact_id), record=judged)
        for fact in unread:
            text, pk = f"not read ({fact.reason}): {fact.words}", str(fact.fact_id)
            self.say(text, rule=None, state="unread", fact=fact.words, fact_id=pk, reason=fact.reason)
        if not rules and not unread:
            self.say("No fact reads as a rule.", rules=0)
