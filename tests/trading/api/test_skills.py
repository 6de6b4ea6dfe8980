"""Skills and drafts over REST: the same services as the pages."""

from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine

from tests.factories.memory import JUNE
from tests.factories.record import WHOLE, DeploymentFactory, SkillFactory, SkillVersionFactory, TradeFactory
from trading.api.skills import WholeDraftSerializer, WholeSkillSerializer
from trading.models import SkillDraft
from trading.skills.services import patch_draft, save_draft, start_draft

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(JUNE, tick=False) as clock:
        yield clock


@pytest.fixture
def skill(as_trader):
    """A skill of two versions."""
    draft = start_draft(skill_id=SkillVersionFactory(skill__name="Dips").skill_id, now=JUNE)
    patch_draft(draft_id=draft.pk, patch={"risk": {"max_leverage": 2}}, now=JUNE)
    return save_draft(draft_id=draft.pk, now=JUNE).skill


def test_skills_are_listed_last_changed_first_archived_ones_apart(api):
    for number in range(3):
        SkillFactory(name=f"Skill {number}", updated_at=JUNE + timedelta(minutes=number))
    SkillFactory(name="Old", archived_at=JUNE)

    first = api("get", "skills/", limit=2)
    rest = api("get", "skills/", limit=2, cursor=first["next_cursor"])
    assert [item["name"] for item in [*first["items"], *rest["items"]]] == ["Skill 2", "Skill 1", "Skill 0"]
    assert rest["next_cursor"] == ""
    assert [item["name"] for item in api("get", "skills/", archived="true")["items"]] == ["Old"]


def test_a_skill_and_its_versions_come_with_what_they_say(api, skill):
    shown = api("get", f"skills/{skill.pk}/")

    assert (shown["name"], shown["latest_version"], shown["trading_style"]) == ("Dips", 2, "swing")
    assert shown.keys() == WholeSkillSerializer().fields.keys()
    assert shown["payload"]["risk"]["max_leverage"] == 2
    assert shown["payload"]["context"]["symbols"] == ["BTC", "ETH"]

    listed = api("get", f"skills/{skill.pk}/versions/")["items"]

    assert [(item["version"], "payload" in item) for item in listed] == [(2, False), (1, False)]
    assert api("get", f"skills/{skill.pk}/versions/1/")["payload"]["risk"]["max_leverage"] == 3


def test_a_skill_is_deployed_on_paper_with_its_newest_version_and_an_amount_of_money(api, skill):
    deployed = api("post", f"skills/{skill.pk}/deploy/", {"starting_equity_usd": "2500.50"}, status=201)

    expected = {"skill": str(skill.pk), "version": 2, "broker_kind": "paper", "status": "running", "last_tick": 0}
    assert deployed | expected | {"starting_equity_usd": "2500.5"} == deployed

    for money in ("0", "-5", "NaN", "Infinity", "1e40", "0.0000000000001", True, [], None):
        problem = api("post", f"skills/{skill.pk}/deploy/", {"starting_equity_usd": money}, status=422)
        assert problem["errors"][0]["pointer"] == "#/starting_equity_usd", money


def test_performance_stands_apart_by_kind_and_has_strings_for_money(api):
    paper = DeploymentFactory()
    live = DeploymentFactory(version=paper.version, broker_kind="live")
    for number in range(6):
        TradeFactory(deployment=paper, fees_usd=Decimal("0.5"), gross_pnl_usd=Decimal(20 if number else -8))
    TradeFactory(deployment=live)
    skill = paper.skill

    kinds = {one["broker_kind"]: one["performance"] for one in api("get", f"skills/{skill.pk}/performance/")["kinds"]}
    assert (kinds["paper"]["trades"], kinds["paper"]["wins"], kinds["paper"]["net_usd"]) == (6, 5, "89")
    assert kinds["paper"]["mean_holding_minutes"] == 120
    assert [isinstance(bound, str) for bound in kinds["paper"]["expectancy_interval_usd"]] == [True, True]
    assert (kinds["live"]["is_too_few"], kinds["live"]["profit_factor"], kinds["live"]["sharpe"]) == (True, None, None)


def test_a_draft_is_begun_patched_and_saved_as_a_skill(api):
    draft = api("post", "drafts/", {}, status=201)
    assert draft.keys() == WholeDraftSerializer().fields.keys()
    assert {problem["field"] for problem in draft["problems"]} >= {"name", "trading_style", "context.symbols"}

    patched = api("patch", f"drafts/{draft['id']}/", {**WHOLE, "trading_style": "day", "maxSteps": 4})
    assert (patched["problems"], patched["name"]) == ([], "Dips")

    version = api("post", f"drafts/{draft['id']}/save/", {}, status=201)
    assert (version["version"], version["payload"]["trading_style"], version["payload"]["max_steps"]) == (1, "day", 4)
    assert api("get", f"skills/{version['skill']}/")["payload"] == version["payload"]
    assert api("get", "drafts/")["items"] == []
    assert api("get", f"drafts/{draft['id']}/", status=404)["code"] == "draft_not_found"


def test_a_draft_that_is_open_is_returned(api, clock, skill):
    begun = api("post", "drafts/", {"skill_id": str(skill.pk)}, status=201)
    clock.shift(60)

    again = api("post", "drafts/", {"skill_id": str(skill.pk)}, status=200)

    assert (again["id"], again["base_version"], again["problems"]) == (begun["id"], 2, [])
    assert [item["id"] for item in api("get", "drafts/")["items"]] == [begun["id"]]


def test_a_wrong_field_is_pointed_at_and_nothing_is_set(api, skill):
    draft = api("post", "drafts/", {"skill_id": str(skill.pk)}, status=201)
    address = f"drafts/{draft['id']}/"

    for patch, pointer in (
        ({"context": {"symbols": ["BTC", "b t c !"]}}, "#/context/symbols/1"),
        ({"risk": {"max_leverage": 1000}}, "#/risk/max_leverage"),
        ({"colour": "red"}, "#/colour"),
        ({"strategy": None}, "#/strategy"),
        ({"trading_style": "day"}, "#/trading_style"),
    ):
        problem = api("patch", address, {"name": "Changed", **patch}, status=422)
        assert pointer in [error["pointer"] for error in problem["errors"]]
    for patch in ([], "text", 3):
        assert api("patch", address, patch, status=400)["detail"] == "A patch is an object."
    assert api("get", address)["payload"] == draft["payload"]


def test_a_draft_of_an_old_version_is_saved_over_a_newer_one_only_on_request(api, clock, skill):
    draft = api("post", "drafts/", {"skill_id": str(skill.pk)}, status=201)
    api("patch", f"drafts/{draft['id']}/", {"description": "Mine"})
    SkillDraft.objects.filter(pk=draft["id"]).update(base_version=1)
    clock.shift(60)

    assert api("post", f"drafts/{draft['id']}/save/", {}, status=409)["code"] == "draft_outdated"
    assert api("post", f"drafts/{draft['id']}/save/", {"over_newer": True}, status=201)["version"] == 3


def test_a_template_fills_a_draft_and_a_draft_is_discarded(api):
    draft = api("post", "drafts/", {}, status=201)

    filled = api("post", f"drafts/{draft['id']}/template/", {"template": "trend_breakout"})

    assert (filled["name"], filled["problems"]) == ("Trend breakout", [])
    assert api("post", f"drafts/{draft['id']}/template/", {"template": "magic"}, status=422)["code"] == "invalid"

    assert api("delete", f"drafts/{draft['id']}/", status=204) is None
    assert api("delete", f"drafts/{draft['id']}/", status=404)["code"] == "draft_not_found"
