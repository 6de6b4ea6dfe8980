import pytest

from chat.turns.turn import find_requested_acts

REMEMBER, FORGET, NEITHER = frozenset({"remember"}), frozenset({"forget"}), frozenset()


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("Remember that I never trade alts.", REMEMBER),
        ("Please remember: 5x is my limit", REMEMBER),
        ("Hi. Could you please remember that I am in UTC+7?", REMEMBER),
        ("OK, don’t forget that I stop at 17:00 UTC.", REMEMBER),
        ("Keep in mind that I hold no positions overnight", REMEMBER),
        ("note that my accounts are in euros", REMEMBER),
        ("Forget that I trade BTC only.", FORGET),
        ("please forget my age", FORGET),
        ("Stop remembering where I live.", FORGET),
        ("Strike the leverage rule.", FORGET),
        ("My leverage rule can go.", FORGET),
        ("Scrap what I said about gold, please", FORGET),
        ("You can drop what I said about alts", FORGET),
        ("Always remember that I trade at night", REMEMBER),
        ("Forget the 5x limit. Remember that 3x is my limit.", REMEMBER | FORGET),
        ("Do you remember that I trade BTC?", NEITHER),
        ("I remember when BTC was at 200.", NEITHER),
        ("Remember when we spoke of funding?", NEITHER),
        ("Remember how I sized it?", NEITHER),
        ("Forget it.", NEITHER),
        ("I will never forget the crash of 2020.", NEITHER),
        ("He said “remember that you must die”.", NEITHER),
        ("What should I remember for the exam?", NEITHER),
        ("How did it go?", NEITHER),
        ("", NEITHER),
        # The longest messages.
        ('"\n' * 8192, NEITHER),
        ("\n" * 16_384, NEITHER),
        ("ok " * 5000, NEITHER),
        ("forget " * 2000, NEITHER),  # as words of others: nobody types so
        ("Forget the 5x limit. " * 700, FORGET),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_a_message_asks_the_memory_outright(text, acts):
    assert find_requested_acts(text) == acts
