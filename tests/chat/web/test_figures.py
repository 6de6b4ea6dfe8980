import re

import pytest

from chat.grounding.checks import check_figures
from chat.web.figures import render_text
from chat.web.markdown import render_markdown
from tests.chat.grounding.test_checks import make_sources

TRADE = "0a1b2c3d-0000-4000-8000-000000000001"
RESULT = {"trades": [{"trade_id": TRADE, "symbol": "BTC", "net_pnl_usd": 28.4}], "net_pnl_usd": 18.7}


MARKS = re.compile(r'<a class="figure"[^>]*>([^<]*)</a>|<mark[^>]*>([^<]*)<span[^>]*>[^<]*</span></mark>')
PRIVATE = dict.fromkeys(range(0xE000, 0xF900), "\ufffd")


def without_marks(html):
    return MARKS.sub(lambda match: match[1] or match[2], html)


def render(text, result=RESULT):
    return render_text(text, check_figures(text, make_sources(result, asked="Is 2 % fine?")), "/chat/receipts/7/")


def test_a_figure_leads_to_the_row_that_states_it():
    html = render("BTC made **$28.40**.")

    assert f'<strong><a class="figure" href="/trades/{TRADE}/" title="From a trade">$28.40</a></strong>' in html


def test_a_figure_of_a_row_without_a_page_leads_to_the_receipt():
    assert 'href="/chat/receipts/7/#figures"' in render("Net is $18.70.")


def test_a_figure_that_nothing_states_is_marked_in_words_too():
    html = render("Net is $99.99.")

    assert 'class="figure figure--unknown"' in html
    assert "(not from your record)" in html


def test_a_figure_of_the_user_stays_plain():
    assert render("You said 2 %.") == render_markdown("You said 2 %.")


@pytest.mark.parametrize(
    "text",
    [
        "See [the $99.99 trade](/trades/) and `$99.99` and https://example.com/99.99?x=5",
        "[$1](javascript:5) <b>$2</b> <img src=x onerror=5>",
        "\ue100$5\ue000 \ue101",
        "| a | $5 |\n|---|---|\n| 7 | **8** |",
        "*5* _6_ ~~7~~ > 8\n> 9",
    ],
)
def test_marks_never_break_the_html(text):
    html = render(text)

    assert not any("\ue000" <= char <= "\uf8ff" for char in html)
    assert without_marks(html) == render_markdown(text.translate(PRIVATE))
