from config.lib.work.commands import RunCommand


class Command(RunCommand):
    help = "Propose to merge facts that say the same; each user accepts or dismisses on their page."
    names = ("consolidate_facts",)
    has_dry_run = True
