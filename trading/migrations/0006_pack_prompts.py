"""Pack the prompts of stored decisions, a deployment after another; one that is cut off goes on where it ended."""

import hashlib

from django.db import migrations, transaction

from config.lib.rls import RunPythonOnOwnedRows, see_everything
from trading.models.packing import pack_text, unpack_text

_KEY_EVERY = 24  # ticks
_BATCH = 240  # rows, of 30 kB


def pack_prompts(apps, editor):
    decisions, prompts = (
        apps.get_model("trading", name)._base_manager for name in ("DecisionSnapshot", "SystemPrompt")
    )
    for rows in _each_deployment(apps, editor, prompt_sha256=""):
        kept, key = {}, None
        for row in rows:
            text, context = row.system_prompt, row.context
            if key is None or row.tick >= key.tick + _KEY_EVERY:
                key, packed = row, pack_text(context)
            else:
                packed = pack_text(context, key.context)
            if text not in kept:
                kept[text], _ = prompts.get_or_create(
                    user_id=row.user_id,
                    deployment_id=row.deployment_id,
                    sha256=hashlib.sha256(text.encode()).hexdigest(),
                    defaults={"text": text},
                )
            decisions.filter(pk=row.pk).update(
                packed=packed,
                packed_with_id=None if key is row else key.pk,
                system_id=kept[text].pk,
                prompt_sha256=hashlib.sha256(f"{text}\n\n{context}".encode()).hexdigest(),
            )


def unpack_prompts(apps, editor):
    decisions = apps.get_model("trading", "DecisionSnapshot")._base_manager
    for rows in _each_deployment(apps, editor):
        keys = {}
        for row in rows:
            context = unpack_text(bytes(row.packed), keys.get(row.packed_with_id, "")) if row.packed is not None else ""
            if row.packed_with_id is None:
                keys = {row.pk: context}
            text = row.system.text if row.system_id else ""
            decisions.filter(pk=row.pk).update(context=context, system_prompt=text, prompt_sha256="")


def _each_deployment(apps, editor, **wanted):
    """Yield the decisions of each deployment in order of their ticks, in a transaction of its own."""
    decisions = apps.get_model("trading", "DecisionSnapshot")._base_manager
    with transaction.atomic():
        see_everything(editor)
        deployments = list(apps.get_model("trading", "Deployment")._base_manager.values_list("pk", flat=True))
    for deployment in deployments:
        with transaction.atomic():
            see_everything(editor)
            yield _in_order(decisions.filter(deployment_id=deployment, **wanted))


def _in_order(rows):
    tick = -1
    while batch := list(rows.filter(tick__gt=tick).order_by("tick")[:_BATCH]):
        yield from batch
        tick = batch[-1].tick


class Migration(migrations.Migration):
    atomic = False

    dependencies = (("trading", "0005_prompts_as_differences"),)

    operations = (RunPythonOnOwnedRows(pack_prompts, unpack_prompts),)
