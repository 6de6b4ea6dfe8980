import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.lib.llm.door import Usage, cost_usd
from tests.factories.memory import MAY
from tests.factories.record import (
    WHOLE,
    BacktestRunFactory,
    BarFactory,
    DeploymentFactory,
    ReflectionNoteFactory,
    SkillVersionFactory,
    TradeFactory,
)
from tests.owners import as_owner
from tests.trading.browsing import text_of
from trading.agent.cost import MEMORY_HEADINGS, context_parts, sample_cost, stored_parts
from trading.models import Deployment, Skill, SkillDraft, SkillVersion
from trading.skills.form import (
    EXPLAINED,
    GROUPS,
    LABELS,
    REGIMES,
    SkillForm,
    describe_changes,
    describe_payload,
    find_group,
)
from trading.skills.patches import BASICS, default_payload
from trading.skills.schemas import BuiltInTool, SkillPayload, parse_payload
from trading.skills.services import patch_draft, save_draft, start_draft
from trading.skills.templates import TEMPLATES

pytestmark = pytest.mark.django_db

SKILLS, NEW = "/skills/", "/skills/new/"
FORM, PREVIEW, TIER = "/skills/new/?view=form", "/skills/new/preview/", "/profile/tier/"
SERVERS = "tools.mcp_servers"


@pytest.fixture
def skill(trader):
    """A skill of the trader with one version."""
    return as_owner(trader, lambda: SkillVersionFactory(skill__name="Dips").skill)


def typed(payload=None, *, seen: str = "", **values) -> dict[str, object]:
    """Return what a browser sends of the form that shows a payload, with some fields typed over."""
    form = SkillForm(payload=payload or default_payload())
    shown = {}
    for group in form.list_groups():
        for field in group.fields:
            value = field.field.prepare_value(field.value()) if hasattr(field.field, "prepare_value") else field.value()
            if value not in (None, False):
                shown[field.name] = "on" if value is True else value
    return {**shown, "view": "form", "seen": seen, **values}


def whole(**values) -> dict[str, object]:
    return typed(
        **{
            "name": "Dips",
            "trading_style": "swing",
            "strategy.thesis": "Dips are bought",
            "context.symbols": "btc, eth",
        },
        **values,
    )


def drafts(trader) -> list[SkillDraft]:
    return as_owner(trader, lambda: list(SkillDraft.objects.filter(status="editing")))


def seen(draft: SkillDraft) -> str:
    return draft.fingerprint


def edit(skill: Skill) -> str:
    return reverse("trading:edit_skill", args=[skill.pk])


def save_version(trader, skill: Skill, patch) -> SkillVersion:
    def write() -> SkillVersion:
        draft = start_draft(skill_id=skill.pk, now=MAY)
        patch_draft(draft_id=draft.pk, patch=patch, now=MAY)
        return save_draft(draft_id=draft.pk, now=MAY)

    return as_owner(trader, write)


# --- The list ---


def test_skills_without_rows_offers_templates(client):
    page = text_of(client.get(SKILLS))

    assert "No skill yet" in page
    assert all(payload["name"] in page for payload in TEMPLATES.values())
    assert "Write your own" in page


def test_skills_lists_style_version_deployments_and_the_last_backtest(client, trader, skill):
    def write() -> None:
        version = SkillVersion.objects.get(skill=skill)
        DeploymentFactory(version=version)
        summary = {"trades": 14, "net_usd": "123.45"}
        BacktestRunFactory(done=True, deployment__version=version, summary=summary, is_simulated=True)

    as_owner(trader, write)

    page = text_of(client.get(SKILLS))

    assert all(words in page for words in ("Dips", "Swing", "version 1", "14 trades", "+$123.45", "simulated market"))
    assert "No skill yet" not in page


def test_skills_shows_drafts_to_resume_and_archived_ones_apart(client, trader, skill):
    def write() -> None:
        SkillVersionFactory(skill__name="Old thing", skill__archived_at=MAY)
        start_draft(skill_id=skill.pk, now=MAY)

    as_owner(trader, write)

    response = client.get(SKILLS)

    assert edit(skill) in response.content.decode()
    assert "The next version of “Dips”" in text_of(response)
    assert "Archived (1)" in text_of(response)
    assert "Old thing" in text_of(response)


# --- The form ---


def test_form_has_each_field_of_the_schema_under_a_heading_once():
    form = SkillForm(payload=default_payload())
    shown = [field.name for group in form.list_groups() for field in group.fields]

    assert sorted(shown) == sorted(LABELS)
    assert {path.split(".")[0] for path in shown} == SkillPayload.model_fields.keys()
    assert {find_group(path) for path in BASICS} == {"basics"}
    assert all(group.fields for group in form.list_groups())
    assert [group.name for group in form.list_groups()] == [*GROUPS]


def test_form_round_trips_a_payload():
    payload = parse_payload(TEMPLATES["trend_breakout"]).stored()
    form = SkillForm(typed(payload), payload=default_payload())

    assert form.is_valid(), form.errors
    assert parse_payload(form.patch()).stored() == payload


def test_opening_form_and_preview_writes_nothing(client, trader, skill):
    for address in (NEW, FORM, PREVIEW, edit(skill), f"{edit(skill)}?view=form", f"{edit(skill)}preview/"):
        assert client.get(address).status_code == 200

    assert drafts(trader) == []


def test_save_makes_the_skill_and_uses_the_draft_up(client, trader):
    response = client.post(NEW, {**whole(), "act": "save"})

    [version] = as_owner(trader, lambda: list(SkillVersion.objects.select_related("skill")))
    assert (response.status_code, response.url) == (302, f"/skills/{version.skill_id}/")
    assert version.payload["context"]["symbols"] == ["BTC", "ETH"]
    assert drafts(trader) == []


def test_save_shows_missing_fields_and_keeps_the_draft(client, trader):
    response = client.post(NEW, {**typed(**{"name": "Half", "strategy.thesis": "Because"}), "act": "save"})

    form = response.context["form"]
    [draft] = drafts(trader)
    assert response.status_code == 422
    assert {"trading_style", "context.symbols"} <= form.errors.keys()
    assert draft.payload["name"] == "Half"
    assert "kept as a draft" in text_of(response)
    assert 'value="Half"' in response.content.decode()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"context.bars_lookback": "many"}, "context.bars_lookback"),
        ({"context.symbols": "BTC, B TC?"}, "context.symbols"),
        ({"risk.max_position_pct": "70", "risk.max_total_exposure_pct": "50"}, "risk.max_position_pct"),
        ({"schedule.value": "25m"}, "schedule.value"),
        ({"context.higher_timeframes": ["1m"]}, "context.higher_timeframes"),
        ({"tools.mcp_servers": "mine http://example.com"}, "tools.mcp_servers"),
        ({"strategy.mode": "rules"}, "strategy.entry"),
        ({"strategy.avoid": "no"}, "strategy.avoid"),
        ({"name": ""}, "name"),
        ({"model": "somebody/else"}, "model"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_save_refuses_beside_the_field_and_loses_nothing_typed(client, trader, values, field):
    response = client.post(NEW, {**whole(**{"strategy.risk_management": "Half size"}), **values, "act": "save"})

    assert response.status_code == 422
    assert response.context["form"].errors.keys() == {field}
    assert "Half size" in response.content.decode()
    assert as_owner(trader, Skill.objects.count) == 0


def test_save_shows_all_errors_at_once(client):
    response = client.post(NEW, {**whole(), "name": "", "context.bars_lookback": "9999", "act": "save"})

    assert response.context["form"].errors.keys() == {"name", "context.bars_lookback"}


def test_keep_stores_partial_input_and_resuming_shows_it(client, trader):
    client.post(NEW, {**typed(**{"name": "Half", "strategy.avoid": "No trade on Fridays\n\nNever add"}), "act": "keep"})

    page = client.get(FORM).content.decode()
    assert 'value="Half"' in page
    assert "No trade on Fridays\nNever add" in page
    assert drafts(trader)[0].payload["strategy"]["avoid"] == ["No trade on Fridays", "Never add"]


def test_emptied_field_takes_its_default(client, trader):
    client.post(NEW, {**typed(**{"strategy.thesis": "Because", "context.bars_lookback": "60"}), "act": "keep"})
    [draft] = drafts(trader)

    client.post(NEW, {**typed(draft.payload, seen=seen(draft), **{"strategy.thesis": "", "context.bars_lookback": ""})})

    [draft] = drafts(trader)
    assert (draft.payload["strategy"]["thesis"], draft.payload["context"]["bars_lookback"]) == ("", 48)


def test_form_older_than_its_draft_asks_before_it_writes_over_it(client, trader):
    client.post(NEW, {**typed(name="First"), "act": "keep"})

    response = client.post(NEW, {**typed(name="Second"), "act": "keep"})
    assert (response.status_code, drafts(trader)[0].payload["name"]) == (409, "First")
    assert 'value="Second"' in response.content.decode()

    client.post(NEW, {**typed(seen=response.context["edited"].seen, name="Second"), "act": "keep"})
    assert drafts(trader)[0].payload["name"] == "Second"


@pytest.mark.parametrize("template", TEMPLATES)
def test_template_fills_a_new_draft(client, trader, template):
    response = client.post(NEW, {"act": f"template:{template}"})

    assert (response.status_code, response.url) == (302, NEW)
    assert drafts(trader)[0].payload["strategy"] == {**default_payload()["strategy"], **TEMPLATES[template]["strategy"]}


def test_template_keeps_the_name_that_was_typed(client, trader):
    response = client.post(NEW, {**typed(name="Mine"), "act": "template:range_fade"})

    assert response.url == FORM

    payload = drafts(trader)[0].payload
    assert (payload["name"], payload["trading_style"]) == ("Mine", "day")


def test_edit_makes_the_next_version_and_cannot_change_the_style(client, trader, skill):
    payload = as_owner(trader, lambda: SkillVersion.objects.get(skill=skill).payload)

    client.post(edit(skill), {**typed(payload, description="Calmer", trading_style="day"), "act": "save"})

    newest = as_owner(trader, lambda: SkillVersion.objects.get(skill=skill, version=2).payload)
    assert (newest["description"], newest["trading_style"]) == ("Calmer", "swing")


def test_save_over_a_newer_version_asks_first(client, trader, skill):
    as_owner(trader, lambda: start_draft(skill_id=skill.pk, now=MAY))
    as_owner(trader, lambda: Skill.objects.filter(pk=skill.pk).update(latest_version=2))
    payload = as_owner(
        trader, lambda: SkillVersionFactory(skill=skill, version=2, payload={**_stored("Dips"), "max_steps": 9}).payload
    )
    [draft] = drafts(trader)
    sent = typed(_stored("Dips"), seen=seen(draft), description="Mine")

    response = client.post(edit(skill), {**sent, "act": "save"})
    assert response.status_code == 409
    assert "Save over the newer one" in text_of(response)
    assert payload["max_steps"] == 9

    client.post(edit(skill), {**sent, "seen": seen(drafts(trader)[0]), "act": "save_over"})
    newest = as_owner(trader, lambda: SkillVersion.objects.get(skill=skill, version=3).payload)
    assert (newest["description"], newest["max_steps"]) == ("Mine", 6)


def _stored(name: str) -> dict:
    return parse_payload({**WHOLE, "name": name}).stored()


def test_name_that_is_taken_is_refused_beside_the_name(client, trader, skill):
    response = client.post(NEW, {**whole(), "name": "DIPS", "act": "save"})

    assert response.status_code == 409
    assert response.context["form"].errors.keys() == {"name"}


@pytest.mark.parametrize("limit", [1_000_000, 1_000])
def test_memory_panel_warns_above_the_tokens_of_a_day(client, trader, settings, limit):
    settings.AGENT_DAILY_PROMPT_TOKENS_WARNING = limit
    client.post(NEW, {"act": "template:range_fade"})

    cost = sample_cost(parse_payload(drafts(trader)[0].payload))
    page = text_of(client.get(NEW))
    assert f"{cost.tokens_per_day:,}" in page
    assert ("That is a lot" in page) is (cost.tokens_per_day > limit)


def test_form_with_errors_shows_the_cost_of_the_input(client):
    client.post(NEW, {"act": "template:range_fade"})
    kept = client.get(NEW)
    before, payload = kept.context["cost"], kept.context["edited"].payload
    wrong = {"context.bars_lookback": "300", "max_steps": "99"}

    response = client.post(NEW, {**typed(payload, seen=kept.context["edited"].seen), **wrong, "act": "save"})

    more = parse_payload({**payload, "context": {**payload["context"], "bars_lookback": 300}})
    assert response.status_code == 422
    assert response.context["cost"] == sample_cost(more)
    assert response.context["cost"].tokens > before.tokens


@pytest.mark.parametrize("act", ["keep", "save"])
@pytest.mark.parametrize(("limit", "is_told"), [(1_000, True), (1_000_000_000, False)])
def test_keeping_and_saving_tell_of_a_costly_prompt(client, settings, act, limit, is_told):
    settings.AGENT_DAILY_PROMPT_TOKENS_WARNING = limit

    response = client.post(NEW, {**whole(), "act": act}, follow=True)

    told = [str(message) for message in response.context["messages"] if message.level_tag == "warning"]
    assert [message.startswith("That is a lot: about ") for message in told] == [True] * is_told


def test_an_archived_skill_is_read_not_changed(client, trader):
    skill = as_owner(trader, lambda: SkillVersionFactory(skill__archived_at=MAY).skill)

    client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": "1000"})

    assert client.post(edit(skill), {**whole(), "act": "save"}).url == f"/skills/{skill.pk}/"
    assert client.get(f"/skills/{skill.pk}/").status_code == 200
    assert as_owner(trader, Deployment.objects.count) == 0


# --- The preview ---


def begun(trader, patch=None, *, skill=None, at=MAY) -> SkillDraft:
    """Let Keel write a draft: a whole one, unless it is told what."""

    def write() -> SkillDraft:
        draft = start_draft(skill_id=skill.pk if skill else None, now=at)
        return patch_draft(draft_id=draft.pk, patch=patch if patch is not None else WHOLE, now=at)

    return as_owner(trader, write)


def test_preview_without_a_draft_says_how_to_begin(client):
    response = client.get(NEW)

    page = text_of(response)
    assert "Tell Keel what you trade" in page
    assert "Help me build a BTC funding-flip mean-reversion strategy" in page
    assert all(payload["name"] in page for payload in TEMPLATES.values())
    assert FORM in response.content.decode()
    assert "Save the skill" not in page


def test_preview_reads_the_draft_as_cards(client, trader):
    begun(trader)

    response = client.get(NEW)

    page = text_of(response)
    assert all(words in page for words in ("Dips", "Dips are bought", "BTC, ETH", "Save the skill", "Close", "Discard"))
    assert 'data-card="Risk"' in response.content.decode()
    assert "Still open" not in page


def test_preview_says_what_is_missing_and_where_it_is_written(client, trader):
    begun(trader, {"name": "Half", "strategy": {"mode": "thesis"}})

    response = client.get(NEW)

    told = "Still open before it can be saved Basics: Trading style What the agent sees: Symbols"
    assert told in text_of(response)
    assert 'href="/skills/new/?view=form#skill-context.symbols"' in response.content.decode()


def test_preview_tells_what_is_doubtful(client, trader):
    begun(trader, {**WHOLE, "risk": {"max_leverage": 50}})

    page = text_of(client.get(NEW))
    assert "More leverage than the caps can use" in page
    assert "No stop" in page


def test_preview_of_a_skill_without_a_draft_shows_what_stands(client, skill):
    page = text_of(client.get(edit(skill)))

    assert "Version 1, as it stands." in page
    assert "Dips are bought" in page
    assert "Discard" not in page


def test_preview_escapes_what_a_draft_says(client, trader):
    begun(trader, {"name": "<b>Bold</b>", "strategy": {"thesis": "<script>alert(1)</script>"}})

    page = client.get(NEW).content.decode()
    assert "&lt;b&gt;Bold&lt;/b&gt;" in page
    assert "<script>alert" not in page


def test_preview_saves_the_draft_as_it_was_seen(client, trader):
    draft = begun(trader)

    response = client.post(NEW, {"act": "save", "seen": seen(draft)})

    [version] = as_owner(trader, lambda: list(SkillVersion.objects.all()))
    assert (response.status_code, response.url) == (302, f"/skills/{version.skill_id}/")
    assert version.payload == parse_payload(draft.payload).stored()
    assert drafts(trader) == []


def test_preview_saves_nothing_that_was_not_seen(client, trader):
    old = begun(trader)
    new = begun(trader, {"risk": {"max_leverage": 50}}, at=MAY + timedelta(seconds=1))

    response = client.post(NEW, {"act": "save", "seen": seen(old)})

    assert response.status_code == 409
    assert "The draft changed before you saved it" in text_of(response)
    assert response.context["edited"].seen == seen(new)
    assert as_owner(trader, Skill.objects.count) == 0


@pytest.mark.parametrize(
    ("patch", "status", "words"),
    [
        ({"name": "Half"}, 422, "Nothing was saved, and the draft is kept."),
        (WHOLE, 409, "You have a skill named Dips already"),
    ],
)
def test_preview_keeps_a_draft_that_cannot_be_saved(client, trader, skill, patch, status, words):
    draft = begun(trader, patch)

    response = client.post(NEW, {"act": "save", "seen": seen(draft)})

    assert response.status_code == status
    assert words in text_of(response)
    assert drafts(trader)[0].payload == draft.payload


def test_preview_asks_before_it_saves_over_a_newer_version(client, trader, skill):
    draft = begun(trader, {"description": "Mine"}, skill=skill)
    as_owner(trader, lambda: Skill.objects.filter(pk=skill.pk).update(latest_version=2))
    as_owner(trader, lambda: SkillVersionFactory(skill=skill, version=2, payload={**_stored("Dips"), "max_steps": 9}))

    response = client.post(edit(skill), {"act": "save", "seen": seen(draft)})
    assert response.status_code == 409
    assert "The skill is at version 2 by now, and this draft was begun on version 1." in text_of(response)

    client.post(edit(skill), {"act": "save_over", "seen": seen(draft)})
    newest = as_owner(trader, lambda: SkillVersion.objects.get(skill=skill, version=3).payload)
    assert (newest["description"], newest["max_steps"]) == ("Mine", 6)


def test_preview_has_nothing_to_save_without_a_draft(client, trader):
    response = client.post(NEW, {"act": "save", "seen": ""})

    assert (response.status_code, as_owner(trader, Skill.objects.count)) == (409, 0)


def test_close_keeps_the_draft_and_says_so(client, trader):
    draft = begun(trader)

    response = client.post(NEW, {"act": "close", "seen": ""}, follow=True)

    assert response.redirect_chain == [(SKILLS, 302)]
    assert [str(message) for message in response.context["messages"]] == ["Draft kept."]
    assert drafts(trader)[0].payload == draft.payload
    assert "Resume" in text_of(response)


@pytest.mark.parametrize("act", ["keep", "close", "nonsense", ""])
def test_what_is_posted_without_the_form_writes_over_no_draft(client, trader, act):
    draft = begun(trader)

    client.post(NEW, {"act": act, "name": "", "seen": seen(draft)})

    assert drafts(trader)[0].payload == draft.payload


def test_preview_alone_is_answered_only_if_it_is_not_as_it_was_seen(client, trader):
    first = begun(trader)
    assert client.get(PREVIEW, {"seen": seen(first)}).status_code == 204

    begun(trader, {"risk": {"max_leverage": 2}})  # at the same time, and still another draft

    response = client.get(PREVIEW, {"seen": seen(first)})
    piece = response.content.decode()
    assert (response.status_code, "<html" in piece) == (200, False)
    assert 'id="draft-preview"' in piece
    assert f"seen={seen(drafts(trader)[0]).replace('+', '%2B').replace(':', '%3A')}" in piece


def test_preview_alone_tells_that_a_draft_was_begun_and_that_it_is_gone(client, trader, skill):
    address = f"{edit(skill)}preview/"
    assert client.get(address, {"seen": ""}).status_code == 204

    draft = begun(trader, {"description": "Calmer"}, skill=skill)
    assert "Calmer" in text_of(client.get(address, {"seen": ""}))

    client.post(edit(skill), {"act": "discard"})
    assert "as it stands" in text_of(client.get(address, {"seen": seen(draft)}))


def test_preview_alone_of_an_archived_skill_is_not_there(client, trader):
    skill = as_owner(trader, lambda: SkillVersionFactory(skill__archived_at=MAY).skill)

    assert client.get(f"{edit(skill)}preview/").status_code == 404


def test_each_thing_that_can_have_the_focus_in_the_preview_has_an_id(client, trader):
    begun(trader, {"name": "Half"})

    # A new preview takes the place of the old one; htmx gives the focus back by the id.
    piece = client.get(PREVIEW).content.decode()
    focusable = re.findall(r"<(?:a|button|summary)\b[^>]*>", piece)
    assert len(focusable) > 4
    assert [tag for tag in focusable if " id=" not in tag] == []


def test_form_and_preview_lead_to_each_other(client, skill):
    assert 'href="/skills/new/?view=form"' in client.get(NEW).content.decode()
    form = client.get(f"{edit(skill)}?view=form").content.decode()
    assert f'href="{edit(skill)}"' in form
    assert 'name="strategy.thesis"' in form


# --- How much the trader has traded ---


def test_the_first_draft_asks_how_much_the_trader_has_traded(client, trader):
    assert "How much have you traded?" in text_of(client.get(NEW))

    response = client.post(TIER, {"tier": "expert", "next": NEW})

    trader.refresh_from_db()
    assert (response.url, trader.experience_tier) == (NEW, "expert")
    assert "How much have you traded?" not in text_of(client.get(NEW))


def test_skipping_is_kept_for_the_session_alone(client, trader, skill):
    client.post(TIER, {"tier": "", "next": edit(skill)})

    trader.refresh_from_db()
    assert trader.experience_tier is None
    assert "How much have you traded?" not in text_of(client.get(edit(skill)))
    client.force_login(trader)
    another = Client()
    another.force_login(trader)
    assert "How much have you traded?" in text_of(another.get(NEW))


@pytest.mark.parametrize("tier", ["guru", "Novice", "null"])
def test_an_unknown_tier_is_refused(client, trader, tier):
    response = client.post(TIER, {"tier": tier, "next": "https://example.com/"}, follow=True)

    trader.refresh_from_db()
    assert trader.experience_tier is None
    assert response.redirect_chain == [(NEW, 302)]
    assert f"There is no tier {tier}." in text_of(response)


# --- One skill ---


def test_skill_says_its_newest_version_in_words(client, skill):
    page = text_of(client.get(f"/skills/{skill.pk}/"))

    assert all(words in page for words in ("Dips are bought", "BTC, ETH", "No trade in a shock regime", "Version 1"))
    assert "context." not in page


def test_skill_compares_two_versions(client, trader, skill):
    save_version(trader, skill, {"context": {"memory": {"recent_trades_k": 20}}, "strategy": {"avoid": []}})

    page = text_of(client.get(f"/skills/{skill.pk}/?compare=1..2"))

    assert "From version 1 to version 2" in page
    assert "Memory: Closed trades shown 10 20" in page
    assert "Strategy: Avoid No trade in a shock regime Nothing" in page


@pytest.mark.parametrize("compare", ["1..9", "2", "a..b", "1...2", "-1..1", "99999999..1"])
def test_skill_says_that_a_comparison_makes_no_sense(client, skill, compare):
    response = client.get(f"/skills/{skill.pk}/", {"compare": compare})

    assert response.status_code == 200
    assert response.context["compared"] is None
    assert "ompare" in str(response.context["compare"].errors)


def test_skill_shows_numbers_by_broker_and_the_lessons_kept(client, trader, skill):
    def write() -> None:
        version = SkillVersion.objects.get(skill=skill)
        TradeFactory(deployment=DeploymentFactory(version=version))
        TradeFactory(deployment=DeploymentFactory(version=version, broker_kind="backtest"))
        ReflectionNoteFactory(deployment=None, skill=skill, lessons_text="- Wait for the close")

    as_owner(trader, write)

    page = text_of(client.get(f"/skills/{skill.pk}/"))

    assert all(words in page for words in ("Paper", "Backtest", "+$19.00", "Too few to say", "Wait for the close"))


def test_version_shows_what_it_said_then(client, trader, skill):
    save_version(trader, skill, {"description": "Said later"})

    assert "Said later" not in text_of(client.get(f"/skills/{skill.pk}/versions/1/"))
    assert "Said later" in text_of(client.get(f"/skills/{skill.pk}/versions/2/"))
    assert client.get(f"/skills/{skill.pk}/versions/3/").status_code == 404
    assert client.get(f"/skills/{skill.pk}/versions/{10**30}/").status_code == 404


def test_deploy_starts_on_paper_with_the_equity_that_was_typed(client, trader, skill):
    response = client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": "2500.50"})

    [deployment] = as_owner(trader, lambda: list(Deployment.objects.all()))
    assert response.url == f"/deployments/{deployment.pk}/"
    assert (deployment.broker_kind, str(deployment.starting_equity_usd)[:7]) == ("paper", "2500.50")


@pytest.mark.parametrize("equity", ["", "0", "-5", "a lot", "1e30"])
def test_deploy_refuses_an_equity_that_is_none(client, trader, skill, equity):
    response = client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": equity})

    assert (response.status_code, as_owner(trader, Deployment.objects.count)) == (422, 0)


def test_archive_refuses_a_skill_that_runs_in_words(client, trader, skill):
    as_owner(trader, lambda: DeploymentFactory(version=SkillVersion.objects.get(skill=skill)))

    page = text_of(client.post(f"/skills/{skill.pk}/archive/", follow=True))

    assert "Stop its deployments first" in page
    assert as_owner(trader, lambda: Skill.objects.get(pk=skill.pk)).archived_at is None


def test_archive_takes_a_skill_off_the_list(client, trader, skill):
    assert client.post(f"/skills/{skill.pk}/archive/").url == SKILLS

    assert as_owner(trader, lambda: Skill.objects.get(pk=skill.pk)).archived_at <= timezone.now()


@pytest.mark.parametrize("is_simulated", [True, False])
def test_numbers_of_a_simulated_market_say_so(client, trader, skill, is_simulated):
    def write() -> None:
        version = SkillVersion.objects.get(skill=skill)
        TradeFactory(deployment=DeploymentFactory(version=version))
        TradeFactory(deployment=DeploymentFactory(version=version, broker_kind="backtest"), symbol="ETH")

    as_owner(trader, write)
    for symbol in ("BTC", "ETH"):
        BarFactory(symbol=symbol, opened_at=MAY - timedelta(hours=1), is_simulated=is_simulated)

    shown = text_of(client.get(f"/skills/{skill.pk}/"))

    assert ("Simulated market. The prices of BTC, ETH are made" in shown) is is_simulated


# --- Words and tokens ---


def test_describe_payload_omits_inactive_fields():
    payload = parse_payload({**WHOLE, "context": {"symbols": ["BTC"]}}).stored()
    payload["context"]["memory"]["reflection"]["cadence"] = "daily"

    labels = {said.label for _, fields in describe_payload(payload) for said in fields}

    assert "Hour of the daily reflection (UTC)" in labels
    assert "Closed trades between two reflections" not in labels


def test_describe_payload_marks_servers_as_not_called_yet():
    servers = [{"name": name, "url": f"https://{name.lower()}.example/mcp"} for name in ("Charts", "Flows")]
    payload = parse_payload({**WHOLE, "tools": {"mcp_servers": servers}}).stored()

    [text] = [said.text for _, fields in describe_payload(payload) for said in fields if said.label == LABELS[SERVERS]]

    assert text.splitlines() == [f"{one['name']} {one['url']} (kept, not called yet)" for one in servers]


def test_describe_changes_names_an_unknown_field_by_its_path():
    [change] = describe_changes([("context.gone", 2.0, None)])

    assert (change.label, change.before, change.after) == ("context.gone", "2", "")


@pytest.mark.parametrize(
    ("patch", "is_less"),
    [
        ({"memory": {"enabled": False}}, True),
        ({"memory": {"recent_trades_k": 3}}, True),
        ({"bars_lookback": 200}, False),
        ({"symbols": ["BTC", "ETH", "SOL"]}, False),
    ],
    ids=["no record", "fewer trades", "more bars", "more symbols"],
)
def test_sample_cost_follows_what_the_skill_asks_for(patch, is_less):
    usual = sample_cost(parse_payload(WHOLE))
    context = {**WHOLE["context"], **patch}

    other = sample_cost(parse_payload({**WHOLE, "context": context}))

    assert (other.tokens < usual.tokens) is is_less
    assert other.tokens != usual.tokens
    assert usual.tokens_per_day == 24 * usual.tokens


def test_sample_cost_counts_the_tools_that_are_sent():
    few, all_of_them = (
        sample_cost(parse_payload({**WHOLE, "tools": {"built_in": tools}}))
        for tools in (["propose_order"], [tool.value for tool in BuiltInTool])
    )

    assert all_of_them.tokens > few.tokens
    assert all_of_them.memory_tokens == few.memory_tokens


@pytest.mark.parametrize(
    ("model", "is_known"), [("openrouter/anthropic/claude-haiku-4.5", True), ("somebody/unheard-of", False)]
)
def test_sample_cost_is_at_the_list_price_of_the_skills_own_model(settings, model, is_known):
    settings.ALLOWED_MODELS = [model]

    cost = sample_cost(parse_payload({**WHOLE, "model": model}))

    price = cost_usd(model, Usage(prompt_tokens=cost.tokens_per_day, completion_tokens=0))
    assert (cost.model, cost.usd_per_day) == (model, price)
    assert (price is not None and price > 0) is is_known


def test_stored_parts_put_together_are_the_prompt_that_was_stored():
    segments = {
        "HEADER": "You are an agent.\n\nTwo paragraphs.",
        "LEASH": "Leash: tight. Do it.",
        "STRATEGY": "# Strategy: Dips\nThesis: one\n\nDecide now and then",
        "LESSONS": "Lessons from your recent trades on this skill (auto-generated; signal, not strategy):\n- one",
        "FOOTER": "Decide now, by one call.",
    }
    text = "\n\n".join(segments.values())

    parts = stored_parts(text, has_lessons=True)

    assert {part.name: part.text for part in parts} == segments
    assert [part.name for part in parts if part.is_memory] == ["LESSONS"]
    assert "\n\n".join(part.text for part in stored_parts("of old", has_lessons=False)) == "of old"


def test_context_parts_know_the_sections_of_memory():
    text = "## Tick\nNow\n\n" + "\n\n".join(f"## {heading}\n- one" for heading in MEMORY_HEADINGS) + "\n"

    assert [part.is_memory for part in context_parts(text)] == [False, True, True]
    assert context_parts("") == []


def test_an_old_draft_is_listed_with_its_day(client, trader):
    as_owner(trader, lambda: start_draft(now=MAY - timedelta(days=1)))

    assert "30 Apr 2026" in text_of(client.get(SKILLS))


# --- How the rules read it ---

HOPE = {
    "entry": "Buy a close above the 55-bar high. Buy on hope.",
    "exit": "After 48 hours",
    "avoid": ["No entry in a chop regime"],
}
READ_AS = (
    "long: close above 55-bar high",
    "Not understood “hope” is not in the grammar",
    "no entry: regime is chop",
    "The rule-based model opens no position. A line under Entry is not understood",
)


def test_pages_of_a_skill_show_how_each_line_is_read(client, trader, skill):
    version = save_version(trader, skill, {"strategy": HOPE})

    for url in (f"/skills/{skill.pk}/", f"/skills/{skill.pk}/versions/{version.version}/", edit(skill)):
        shown = text_of(client.get(url))
        assert [text for text in READ_AS if text not in shown] == []


def test_form_shows_how_each_line_is_read(client):
    answer = client.post(
        NEW, typed(**{f"strategy.{name}": text for name, text in HOPE.items() if name != "avoid"}, act="save")
    )

    assert READ_AS[1] in text_of(answer)


# --- Steps, live reading and differences of the form ---


def test_form_lists_its_steps_and_marks_the_one_to_correct(client):
    body = client.get(FORM).content.decode()
    steps = [f'href="#group-{name}"' for name in GROUPS]
    assert [body.index(step) for step in steps] == sorted(body.index(step) for step in steps)
    assert 'href="#group-strategy">Next: Strategy' in body
    assert "to correct" not in body

    refused = client.post(FORM, {"view": "form", "act": "save", "seen": "", "risk.max_leverage": "900"})
    nav = refused.content.decode().partition('aria-label="Steps"')[2].partition("</nav>")[0]
    assert nav.count("to correct") == 3  # the name and style, the thesis, the leverage


def test_form_explains_each_value_of_its_terms(client):
    body = client.get(FORM).content.decode()

    for lines in (*EXPLAINED.values(), REGIMES):
        for line in lines.values():
            assert f"{line}." in body, line


def test_look_reads_what_is_typed_and_saves_nothing(client, trader):
    typed = {
        **{"view": "form", "act": "look", "seen": "", "name": "Dips", "trading_style": "day", "strategy.mode": "rules"},
        **{"strategy.entry": "Buy a close above the 55-bar high.", "strategy.exit": "Exit after 10 bars."},
        **{"context.symbols": "BTC", "schedule.type": "interval", "schedule.value": "1h"},
    }

    response = client.post(FORM, typed)

    body = response.content.decode()
    assert response.status_code == 200
    assert "<html" not in body
    assert "Buy a close above the 55-bar high." in body
    assert "decisions a day" in body
    assert as_owner(trader, SkillDraft.objects.count) == 0


def test_describe_changes_compares_long_texts_word_by_word():
    old = "Buy a close above the 55-bar high, but never on a Sunday or near a scheduled event.\nWait."
    [long, short] = describe_changes(
        [("strategy.entry", old, old.replace("55-bar", "20-bar")), ("strategy.style", "trend", "range")]
    )

    assert [(run.kind, run.text) for run in long.words if run.kind != "kept"] == [
        ("removed", "55-bar"),
        ("added", "20-bar"),
    ]
    assert long.words[-1].text.endswith("event. \n Wait.")
    assert short.words == []
