import json
from io import StringIO

from django.core.management import CommandError, call_command

from chat.management.commands.check_models import CHECKS


def answer_well(model):
    """Queue the answers of a model that passes all checks but the cache's."""
    model.say("Ready.")
    model.call("get_price", {"symbol": "BTC"})
    model.say("BTC is at 42,150 USD.")
    model.call_all(("get_price", {"symbol": "BTC"}), ("get_price", {"symbol": "ETH"}))
    model.call("get_price", {"symbol": "BTC"})
    model.say("I cannot place orders.")
    model.say("400")
    model.say("400")
    model.say("A BTC long")


def check(*arguments):
    out = StringIO()
    failure = ""
    try:
        call_command("check_models", *arguments, stdout=out)
    except CommandError as problem:
        failure = str(problem)
    return out.getvalue(), failure


def results_of(model):
    printed, failure = check("--model", "scripted/m", "--json")
    return {line["check"]: line for line in map(json.loads, printed.splitlines())}, failure


def test_good_model_passes(model):
    answer_well(model)
    found = {"op": "add", "category": "profile", "topic": "risk", "content": "Max leverage is 3x", "confidence": 0.9}
    quotes = [{"message": 1, "text": "My max leverage is 3x."}]
    model.say(json.dumps({"facts": [{**found, "quotes": quotes}], "summary": ""}))

    results, _ = results_of(model)

    passed = {name for name, result in results.items() if result["is_passed"]}
    assert passed == set(CHECKS) - {"cache"}
    assert [results[name]["prompt_tokens"] for name in ("tool call", "extraction")] == [20, 10]


def test_tool_check_sends_the_result_and_the_state_of_the_call(model):
    answer_well(model)

    results_of(model)

    call, result = model.requests[2]["messages"][-2:]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert json.loads(result["content"]) == {"price": 42_150}


def test_model_that_calls_nothing_fails_with_its_words(model):
    for _ in range(12):
        model.say("I do not know.")

    results, failure = results_of(model)

    failed = {name for name, result in results.items() if not result["is_passed"]}
    assert failed == {"tool call", "two calls", "forced call", "cache", "extraction"}
    assert results["tool call"]["detail"] == "No call: I do not know."
    assert failure.startswith("5 of the checks failed")


def test_unreachable_model_fails_each_check(model):
    printed, failure = check("--model", "scripted/m")

    assert printed.count("FAILED") == len(CHECKS)
    assert failure.startswith(f"{len(CHECKS)} of the checks failed")


def test_rule_based_model_needs_no_check(settings):
    settings.MODELS_IN_USE = [settings.OFFLINE_MODEL]

    assert check() == ("Only the rule-based model is configured. It needs no check.\n", "")


def test_models_in_use_are_checked(settings, model):
    settings.MODELS_IN_USE = ["scripted/one", settings.OFFLINE_MODEL, "scripted/two"]

    printed, _ = check()

    assert [name for name in ("scripted/one", "offline/keel", "scripted/two") if name in printed] == [
        "scripted/one",
        "scripted/two",
    ]
