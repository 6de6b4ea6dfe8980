from config.lib.work.commands import RunCommand


class Command(RunCommand):
    help = "Report the learned facts that faded from prompts since the last report; the log names them."
    names = ("decay_facts",)
    has_dry_run = True
