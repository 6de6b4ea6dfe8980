import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

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
from tests.tables import each_case
from tests.trading.browsing import Browser, assert_shows, text_of
from trading.agent.cost import sample_cost
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
from trading.skills.schemas import SkillPayload, parse_payload
from trading.skills.services import patch_draft, save_draft, start_draft
from trading.skills.templates import TEMPLATES

pytestmark = pytest.mark.django_db

SKILLS, NEW = "/skills/", "/skills/new/"
FORM, PREVIEW, TIER = "/skills/new/?view=form", "/skills/new/preview/", "/profile/tier/"
HOW_MUCH = "How much have you traded?"


@pytest.fixture
def skill(as_trader):
    """A skill of the trader with one version."""
    return SkillVersionFactory(skill__name="Dips").skill


def typed(payload=None, *, seen: str = "", **values) -> dict[str, object]:
    """Return what a browser sends of the form that shows a payload, with some fields typed over."""
    shown = {}
    for group in SkillForm(payload=payload or default_payload()).list_groups():
        for field in group.fields:
            value = field.field.prepare_value(field.value()) if hasattr(field.field, "prepare_value") else field.value()
            if value not in (None, False):
                shown[field.name] = "on" if value is True else value
    return {**shown, "view": "form", "seen": seen, **values}


def whole(**values) -> dict[str, object]:
    basics = {"name": "Dips", "trading_style": "swing", "strategy.thesis": "Dips are bought"}
    return typed(**{**basics, "context.symbols": "btc, eth"}, **values)


def drafts() -> list[SkillDraft]:
    return list(SkillDraft.objects.filter(status="editing"))


def edit(skill: Skill) -> str:
    return reverse("trading:edit_skill", args=[skill.pk])


def begin(patch=WHOLE, *, skill=None, at=MAY) -> SkillDraft:
    """Let Keel write a draft: a whole one, unless it is told what."""
    draft = start_draft(skill_id=skill.pk if skill else None, now=at)
    return patch_draft(draft_id=draft.pk, patch=patch, now=at)


def save_version(skill: Skill, patch) -> SkillVersion:
    return save_draft(draft_id=begin(patch, skill=skill).pk, now=MAY)


# --- The list ---


def test_skills_and_preview_without_a_draft_say_how_to_begin(client):
    names = [payload["name"] for payload in TEMPLATES.values()]
    assert_shows(client.get(SKILLS), "No skill yet", "Write your own", *names)

    response = client.get(NEW)

    question = "Help me build a BTC funding-flip mean-reversion strategy"
    names = [payload["name"] for payload in TEMPLATES.values()]
    assert_shows(response, "Tell Keel what you trade", question, *names, lacks=("Save the skill",))
    assert FORM in response.content.decode()

    assert client.post(NEW, {"act": "save", "seen": ""}).status_code == 409
    assert Skill.objects.count() == 0


def test_skills_lists_style_version_deployments_last_backtest_drafts_and_archived_ones(client, skill):
    version = SkillVersion.objects.get(skill=skill)
    DeploymentFactory(version=version)
    summary = {"trades": 14, "net_usd": "123.45"}
    BacktestRunFactory(done=True, deployment__version=version, summary=summary, is_simulated=True)
    SkillVersionFactory(skill__name="Old thing", skill__archived_at=MAY)
    start_draft(skill_id=skill.pk, now=MAY - timedelta(days=1))

    response = client.get(SKILLS)

    shown = ("Dips", "Swing", "version 1", "14 trades", "+$123.45", "simulated market", "Archived (1)", "Old thing")
    assert_shows(response, *shown, "The next version of “Dips”", "30 Apr 2026", lacks=("No skill yet",))
    assert edit(skill) in response.content.decode()


# --- The form ---


def test_form_has_each_field_of_the_schema_under_a_heading_once_and_round_trips_a_payload():
    form = SkillForm(payload=default_payload())
    shown = [field.name for group in form.list_groups() for field in group.fields]

    assert sorted(shown) == sorted(LABELS)
    assert {path.split(".")[0] for path in shown} == SkillPayload.model_fields.keys()
    assert {find_group(path) for path in BASICS} == {"basics"}
    assert all(group.fields for group in form.list_groups())
    assert [group.name for group in form.list_groups()] == [*GROUPS]

    payload = parse_payload(TEMPLATES["trend_breakout"]).stored()
    form = SkillForm(typed(payload), payload=default_payload())

    assert form.is_valid(), form.errors
    assert parse_payload(form.patch()).stored() == payload


def test_form_and_preview_lead_to_each_other_and_write_nothing(client, skill):
    for address in (NEW, FORM, PREVIEW, edit(skill), f"{edit(skill)}?view=form", f"{edit(skill)}preview/"):
        assert client.get(address).status_code == 200

    assert drafts() == []

    assert 'href="/skills/new/?view=form"' in client.get(NEW).content.decode()
    form = client.get(f"{edit(skill)}?view=form").content.decode()
    assert f'href="{edit(skill)}"' in form
    assert 'name="strategy.thesis"' in form


@pytest.mark.parametrize("is_form", [True, False])
def test_save_makes_the_skill_and_uses_the_draft_up(client, is_form):
    sent = whole() if is_form else {"seen": begin().fingerprint}

    response = client.post(NEW, {**sent, "act": "save"})

    version = SkillVersion.objects.get()
    assert (response.status_code, response.url) == (302, f"/skills/{version.skill_id}/")
    assert version.payload["context"]["symbols"] == ["BTC", "ETH"]
    assert drafts() == []


def test_save_shows_missing_fields_and_keeps_the_draft(client):
    response = client.post(NEW, {**typed(**{"name": "Half", "strategy.thesis": "Because"}), "act": "save"})

    assert response.status_code == 422
    assert {"trading_style", "context.symbols"} <= response.context["form"].errors.keys()
    assert drafts()[0].payload["name"] == "Half"
    assert_shows(response, "kept as a draft")
    assert 'value="Half"' in response.content.decode()


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"context.bars_lookback": "many"}, {"context.bars_lookback"}),
        ({"context.symbols": "BTC, B TC?"}, {"context.symbols"}),
        ({"risk.max_position_pct": "70", "risk.max_total_exposure_pct": "50"}, {"risk.max_position_pct"}),
        ({"schedule.value": "25m"}, {"schedule.value"}),
        ({"context.higher_timeframes": ["1m"]}, {"context.higher_timeframes"}),
        ({"tools.mcp_servers": "mine http://example.com"}, {"tools.mcp_servers"}),
        ({"strategy.mode": "rules"}, {"strategy.entry"}),
        ({"strategy.avoid": "no"}, {"strategy.avoid"}),
        ({"model": "somebody/else"}, {"model"}),
        ({"name": "", "context.bars_lookback": "9999"}, {"name", "context.bars_lookback"}),
    ],
)
def test_save_refuses_beside_the_fields_and_loses_nothing_typed(client, values, fields):
    response = client.post(NEW, {**whole(**{"strategy.risk_management": "Half size"}), **values, "act": "save"})

    assert response.status_code == 422
    assert response.context["form"].errors.keys() == fields
    assert "Half size" in response.content.decode()
    assert Skill.objects.count() == 0


def test_keep_stores_partial_input_resuming_shows_it_and_an_emptied_field_takes_its_default(client):
    avoid = {"strategy.avoid": "No trade on Fridays\n\nNever add", "strategy.thesis": "Because"}
    client.post(NEW, {**typed(name="Half", **avoid, **{"context.bars_lookback": "60"}), "act": "keep"})

    page = client.get(FORM).content.decode()
    assert 'value="Half"' in page
    assert "No trade on Fridays\nNever add" in page
    [draft] = drafts()
    assert draft.payload["strategy"]["avoid"] == ["No trade on Fridays", "Never add"]

    emptied = {"strategy.thesis": "", "context.bars_lookback": ""}
    client.post(NEW, typed(draft.payload, seen=draft.fingerprint, **emptied))
    [draft] = drafts()
    assert (draft.payload["strategy"]["thesis"], draft.payload["context"]["bars_lookback"]) == ("", 48)


def test_form_older_than_its_draft_asks_before_it_writes_over_it(client):
    client.post(NEW, {**typed(name="First"), "act": "keep"})

    response = client.post(NEW, {**typed(name="Second"), "act": "keep"})
    assert (response.status_code, drafts()[0].payload["name"]) == (409, "First")
    assert 'value="Second"' in response.content.decode()

    client.post(NEW, {**typed(seen=response.context["edited"].seen, name="Second"), "act": "keep"})
    assert drafts()[0].payload["name"] == "Second"


def test_template_fills_a_draft_and_keeps_the_name_that_was_typed(client):
    for template, payload in TEMPLATES.items():
        response = client.post(NEW, {"act": f"template:{template}", "seen": ""})
        assert (response.status_code, response.url) == (302, NEW)
        assert drafts()[0].payload["strategy"] == {**default_payload()["strategy"], **payload["strategy"]}
        client.post(NEW, {"act": "discard"})

    assert client.post(NEW, {**typed(name="Mine"), "act": "template:range_fade"}).url == FORM
    payload = drafts()[0].payload
    assert (payload["name"], payload["trading_style"]) == ("Mine", "day")


def test_edit_makes_the_next_version_and_cannot_change_the_style(client, skill):
    payload = SkillVersion.objects.get(skill=skill).payload

    client.post(edit(skill), {**typed(payload, description="Calmer", trading_style="day"), "act": "save"})

    newest = SkillVersion.objects.get(skill=skill, version=2).payload
    assert (newest["description"], newest["trading_style"]) == ("Calmer", "swing")


@pytest.mark.parametrize("is_form", [True, False])
def test_save_over_a_newer_version_asks_first(client, skill, is_form):
    draft = begin({"description": "Mine"}, skill=skill)
    payload = parse_payload({**WHOLE, "name": "Dips", "max_steps": 9}).stored()
    SkillVersionFactory(skill=skill, version=2, payload=payload)
    Skill.objects.filter(pk=skill.pk).update(latest_version=2)
    sent = typed(draft.payload) if is_form else {}

    response = client.post(edit(skill), {**sent, "act": "save", "seen": draft.fingerprint})
    assert response.status_code == 409
    told = "" if is_form else "The skill is at version 2 by now, and this draft was begun on version 1."
    assert_shows(response, "Save over the newer one", told)

    client.post(edit(skill), {**sent, "act": "save_over", "seen": drafts()[0].fingerprint})
    newest = SkillVersion.objects.get(skill=skill, version=3).payload
    assert (newest["description"], newest["max_steps"]) == ("Mine", 6)


def test_name_that_is_taken_is_refused_beside_the_name(client, skill):
    response = client.post(NEW, {**whole(), "name": "DIPS", "act": "save"})

    assert (response.status_code, response.context["form"].errors.keys()) == (409, {"name"})


@pytest.mark.parametrize("is_much", [True, False])
def test_form_and_messages_tell_of_a_costly_prompt(client, settings, is_much):
    settings.AGENT_DAILY_PROMPT_TOKENS_WARNING = 1_000 if is_much else 1_000_000_000
    client.post(NEW, {"act": "template:range_fade"})
    cost = sample_cost(parse_payload(drafts()[0].payload))
    page = assert_shows(client.get(NEW), f"{cost.tokens_per_day:,}")
    assert ("That is a lot" in page) is is_much

    for act in ("keep", "save"):
        response = client.post(NEW, {**whole(seen=drafts()[0].fingerprint), "act": act}, follow=True)
        told = [str(message) for message in response.context["messages"] if message.level_tag == "warning"]
        assert [message.startswith("That is a lot: about ") for message in told] == [True] * is_much


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


def test_an_archived_skill_is_read_not_changed(client):
    skill = SkillVersionFactory(skill__archived_at=MAY).skill

    client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": "1000"})

    assert client.post(edit(skill), {**whole(), "act": "save"}).url == f"/skills/{skill.pk}/"
    assert client.get(f"/skills/{skill.pk}/").status_code == 200
    assert client.get(f"{edit(skill)}preview/").status_code == 404
    assert Deployment.objects.count() == 0


# --- The preview ---


OPEN = "Still open before it can be saved Basics: Trading style What the agent sees: Symbols"
WRITTEN_AT = 'href="/skills/new/?view=form#skill-context.symbols"'
HOSTILE = {"name": "<b>Bold</b>", "strategy": {"thesis": "<script>alert(1)</script>"}}


@pytest.mark.parametrize(
    ("patch", "words", "lacks", "html"),
    [
        (WHOLE, ("Dips", "BTC, ETH", "Save the skill", "Close", "Discard"), ("Still open",), 'data-card="Risk"'),
        ({"name": "Half", "strategy": {"mode": "thesis"}}, (OPEN,), (), WRITTEN_AT),
        ({**WHOLE, "risk": {"max_leverage": 50}}, ("More leverage than the caps can use", "No stop"), (), ""),
        (HOSTILE, (), (), "&lt;b&gt;Bold&lt;/b&gt;"),
    ],
    ids=["whole", "half", "doubtful", "hostile"],
)
def test_preview_reads_the_draft_and_says_what_is_missing_or_doubtful(client, patch, words, lacks, html):
    begin(patch)

    response = client.get(NEW)

    assert_shows(response, *words, lacks=lacks)
    assert html in response.content.decode()
    assert "<script>alert" not in response.content.decode()


def test_preview_of_a_skill_without_a_draft_shows_what_stands(client, skill):
    assert_shows(
        client.get(edit(skill)),
        "Version 1, as it stands.",
        "Dips are bought",
        "No trade in a shock",
        lacks=("Discard",),
    )


def test_preview_saves_nothing_that_was_not_seen(client):
    old = begin()
    new = begin({"risk": {"max_leverage": 50}}, at=MAY + timedelta(seconds=1))

    response = client.post(NEW, {"act": "save", "seen": old.fingerprint})

    assert response.status_code == 409
    assert_shows(response, "The draft changed before you saved it")
    assert response.context["edited"].seen == new.fingerprint
    assert Skill.objects.count() == 0


@pytest.mark.parametrize(
    ("patch", "status", "words"),
    [
        ({"name": "Half"}, 422, "Nothing was saved, and the draft is kept."),
        (WHOLE, 409, "You have a skill named Dips already"),
    ],
)
def test_preview_keeps_a_draft_that_cannot_be_saved(client, skill, patch, status, words):
    draft = begin(patch)

    response = client.post(NEW, {"act": "save", "seen": draft.fingerprint})

    assert response.status_code == status
    assert_shows(response, words)
    assert drafts()[0].payload == draft.payload


def test_close_keeps_the_draft_and_says_so(client):
    draft = begin()

    response = client.post(NEW, {"act": "close", "seen": ""}, follow=True)

    assert response.redirect_chain == [(SKILLS, 302)]
    assert [str(message) for message in response.context["messages"]] == ["Draft kept."]
    assert drafts()[0].payload == draft.payload
    assert_shows(response, "Resume")


@each_case("act", ["keep", "close", "nonsense", ""])
def test_what_is_posted_without_the_form_writes_over_no_draft(client, act):
    draft = begin()

    client.post(NEW, {"act": act, "name": "", "seen": draft.fingerprint})

    assert drafts()[0].payload == draft.payload


def test_preview_alone_is_answered_only_if_it_is_not_as_it_was_seen(client):
    first = begin().fingerprint
    assert client.get(PREVIEW, {"seen": first}).status_code == 204

    begin({"strategy": {"thesis": ""}})  # at the same time, and still another draft

    response = client.get(PREVIEW, {"seen": first})
    piece = response.content.decode()
    assert (response.status_code, "<html" in piece) == (200, False)
    assert 'id="draft-preview"' in piece
    assert f"seen={drafts()[0].fingerprint.replace('+', '%2B').replace(':', '%3A')}" in piece
    # A new preview takes the place of the old one; htmx gives the focus back by the id.
    focusable = re.findall(r"<(?:a|button|summary)\b[^>]*>", piece)
    assert len(focusable) > 4
    assert [tag for tag in focusable if " id=" not in tag] == []


def test_preview_alone_tells_that_a_draft_was_begun_and_that_it_is_gone(client, skill):
    address = f"{edit(skill)}preview/"
    assert client.get(address, {"seen": ""}).status_code == 204

    draft = begin({"description": "Calmer"}, skill=skill)
    assert_shows(client.get(address, {"seen": ""}), "Calmer")

    client.post(edit(skill), {"act": "discard"})
    assert_shows(client.get(address, {"seen": draft.fingerprint}), "as it stands")


# --- How much the trader has traded ---


def test_the_first_draft_asks_how_much_the_trader_has_traded(client, trader):
    assert_shows(client.get(NEW), HOW_MUCH)

    response = client.post(TIER, {"tier": "expert", "next": NEW})

    trader.refresh_from_db()
    assert (response.url, trader.experience_tier) == (NEW, "expert")
    assert_shows(client.get(NEW), lacks=(HOW_MUCH,))


def test_skipping_is_kept_for_the_session_alone(client, trader, skill):
    client.post(TIER, {"tier": "", "next": edit(skill)})

    trader.refresh_from_db()
    assert trader.experience_tier is None
    assert_shows(client.get(edit(skill)), lacks=(HOW_MUCH,))
    another = Browser()
    another.force_login(trader)
    assert_shows(another.get(NEW), HOW_MUCH)


@each_case("tier", ["guru", "Novice", "null"])
def test_an_unknown_tier_is_refused(client, trader, tier):
    response = client.post(TIER, {"tier": tier, "next": "https://example.com/"}, follow=True)

    trader.refresh_from_db()
    assert trader.experience_tier is None
    assert response.redirect_chain == [(NEW, 302)]
    assert_shows(response, f"There is no tier {tier}.")


# --- One skill ---


def test_skill_compares_two_versions_in_words(client, skill):
    save_version(skill, {"context": {"memory": {"recent_trades_k": 20}}, "strategy": {"avoid": []}})

    newest = ("Dips are bought", "BTC, ETH", "Version 2")
    changes = ("Memory: Closed trades shown 10 20", "Strategy: Avoid No trade in a shock regime Nothing")
    page = client.get(f"/skills/{skill.pk}/?compare=1..2")
    assert_shows(page, *newest, "From version 1 to version 2", *changes, lacks=("context.",))


@each_case("compare", ["1..9", "2", "a..b", "1...2", "-1..1", "99999999..1"])
def test_skill_says_that_a_comparison_makes_no_sense(client, skill, compare):
    response = client.get(f"/skills/{skill.pk}/", {"compare": compare})

    assert (response.status_code, response.context["compared"]) == (200, None)
    assert "ompare" in str(response.context["compare"].errors)


@pytest.mark.parametrize("is_simulated", [True, False])
def test_skill_shows_numbers_by_broker_the_lessons_kept_and_where_the_market_is_simulated(client, skill, is_simulated):
    version = SkillVersion.objects.get(skill=skill)
    TradeFactory(deployment=DeploymentFactory(version=version))
    TradeFactory(deployment=DeploymentFactory(version=version, broker_kind="backtest"), symbol="ETH")
    ReflectionNoteFactory(deployment=None, skill=skill, lessons_text="- Wait for the close")
    for symbol in ("BTC", "ETH"):
        BarFactory(symbol=symbol, opened_at=MAY - timedelta(hours=1), is_simulated=is_simulated)

    words = ("Paper", "Backtest", "+$19.00", "Too few to say", "Wait for the close")
    page = assert_shows(client.get(f"/skills/{skill.pk}/"), *words)

    assert ("Simulated market. The prices of BTC, ETH are made" in page) is is_simulated


def test_version_shows_what_it_said_then(client, skill):
    save_version(skill, {"description": "Said later"})

    assert_shows(client.get(f"/skills/{skill.pk}/versions/1/"), lacks=("Said later",))
    assert_shows(client.get(f"/skills/{skill.pk}/versions/2/"), "Said later")
    assert client.get(f"/skills/{skill.pk}/versions/3/").status_code == 404
    assert client.get(f"/skills/{skill.pk}/versions/{10**30}/").status_code == 404


def test_deploy_starts_on_paper_with_the_equity_that_was_typed(client, skill):
    response = client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": "2500.50"})

    deployment = Deployment.objects.get()
    assert response.url == f"/deployments/{deployment.pk}/"
    assert (deployment.broker_kind, str(deployment.starting_equity_usd)[:7]) == ("paper", "2500.50")


@each_case("equity", ["", "0", "-5", "a lot", "1e30"])
def test_deploy_refuses_an_equity_that_is_none(client, skill, equity):
    response = client.post(f"/skills/{skill.pk}/deploy/", {"starting_equity_usd": equity})

    assert (response.status_code, Deployment.objects.count()) == (422, 0)


def test_archive_takes_a_skill_off_the_list_unless_it_runs(client, skill):
    running = DeploymentFactory().skill

    assert_shows(client.post(f"/skills/{running.pk}/archive/", follow=True), "Stop its deployments first")
    assert client.post(f"/skills/{skill.pk}/archive/").url == SKILLS

    archived = dict(Skill.objects.values_list("pk", "archived_at"))
    assert archived[running.pk] is None
    assert archived[skill.pk] <= timezone.now()


# --- Words and tokens ---


def test_describe_payload_omits_inactive_fields_and_marks_servers_as_not_called_yet():
    servers = [{"name": name, "url": f"https://{name.lower()}.example/mcp"} for name in ("Charts", "Flows")]
    payload = parse_payload({**WHOLE, "tools": {"mcp_servers": servers}}).stored()
    payload["context"]["memory"]["reflection"]["cadence"] = "daily"

    said = {one.label: one.text for _, fields in describe_payload(payload) for one in fields}

    assert "Hour of the daily reflection (UTC)" in said
    assert "Closed trades between two reflections" not in said
    kept = [f"{one['name']} {one['url']} (kept, not called yet)" for one in servers]
    assert said[LABELS["tools.mcp_servers"]].splitlines() == kept


# --- How the rules read it ---

HOPE = {"entry": "Buy a close above the 55-bar high. Buy on hope.", "exit": "After 48 hours"}
READ_AS = (
    "long: close above 55-bar high",
    "Not understood “hope” is not in the grammar",
    "no entry: regime is chop",
    "The rule-based model opens no position. A line under Entry is not understood",
)


def test_pages_of_a_skill_show_how_each_line_is_read(client, skill):
    version = save_version(skill, {"strategy": {**HOPE, "avoid": ["No entry in a chop regime"]}})

    for url in (f"/skills/{skill.pk}/", f"/skills/{skill.pk}/versions/{version.version}/", edit(skill)):
        assert_shows(client.get(url), *READ_AS)

    answer = client.post(NEW, typed(**{f"strategy.{name}": text for name, text in HOPE.items()}, act="save"))
    assert READ_AS[1] in text_of(answer)


# --- Steps, live reading and differences of the form ---


def test_form_lists_its_steps_marks_the_one_to_correct_and_explains_each_value(client):
    body = client.get(FORM).content.decode()
    steps = [f'href="#group-{name}"' for name in GROUPS]
    assert [body.index(step) for step in steps] == sorted(body.index(step) for step in steps)
    assert 'href="#group-strategy">Next: Strategy' in body
    assert "to correct" not in body
    for lines in (*EXPLAINED.values(), REGIMES):
        assert [line for line in lines.values() if f"{line}." not in body] == []

    refused = client.post(FORM, {"view": "form", "act": "save", "seen": "", "risk.max_leverage": "900"})
    nav = refused.content.decode().partition('aria-label="Steps"')[2].partition("</nav>")[0]
    assert nav.count("to correct") == 3  # the name and style, the thesis, the leverage


def test_look_reads_what_is_typed_and_saves_nothing(client):
    response = client.post(FORM, whole(act="look", **{"strategy.entry": "Buy a close above the 55-bar high."}))

    assert response.status_code == 200
    assert "<html" not in response.content.decode()
    assert_shows(response, "Buy a close above the 55-bar high.", "decisions a day")
    assert SkillDraft.objects.count() == 0


def test_describe_changes_compares_long_texts_word_by_word_and_names_an_unknown_field():
    old = "Buy a close above the 55-bar high, but never on a Sunday or near a scheduled event.\nWait."
    [long, short] = describe_changes(
        [("strategy.entry", old, old.replace("55-bar", "20-bar")), ("strategy.style", "trend", "range")]
    )

    changed = [(run.kind, run.text) for run in long.words if run.kind != "kept"]
    assert changed == [("removed", "55-bar"), ("added", "20-bar")]
    assert long.words[-1].text.endswith("event. \n Wait.")
    assert short.words == []

    [change] = describe_changes([("context.gone", 2.0, None)])

    assert (change.label, change.before, change.after) == ("context.gone", "2", "")
