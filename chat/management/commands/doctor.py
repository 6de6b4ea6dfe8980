from django.core.management.base import CommandError
from django.utils import timezone

from config.lib.operations.doctor import examine_site
from config.lib.work.commands import KeelCommand


class Command(KeelCommand):
    help = "Check what Keel needs: database, policies, Redis, mail, model, clock, disk. Exit code 1: something fails."

    def run(self, **options: object) -> None:
        failed = 0
        for finding in examine_site(timezone.now):
            failed += finding.state == "fail"
            text = f"{finding.state:5}{finding.name:13} {finding.text}"
            self.say(text, name=finding.name, state=finding.state, text=finding.text)
        if failed:
            raise CommandError(f"{failed} of the checks failed.")
