"""Each limit that refuses has a test that goes one beyond it; what people type is bounded, as its column is."""

from tests.limits import OTHERS, find_marked, find_places


def test_each_limit_has_a_test_that_goes_beyond_it():
    limits, marked = {place.limit for place in find_places()}, set(find_marked())

    untested, unknown = sorted(limits - marked), sorted(marked - limits)

    assert not untested, f'{untested}: go one beyond it in a test with `@pytest.mark.limit("{untested[0]}")`'
    assert not unknown, f"{unknown}: no limit of this name refuses any more; take the mark away, or see tests/limits.py"


def test_limits_named_by_hand_are_where_they_are_said_to_be():
    gone = sorted(set(OTHERS.items()) - set(find_places()))

    assert not gone, f"{gone}: bring OTHERS of tests/limits.py up to date"
