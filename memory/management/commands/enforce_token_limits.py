from config.lib.work.commands import RunCommand


class Command(RunCommand):
    help = (
        "Take facts out of the memory document over its limit, the least recently referenced first; they stay believed."
    )
    names = ("enforce_token_limits",)
    has_dry_run = True
