"""Headlines from files."""

import pytest
from django.core.management import CommandError

from tests.trading.market.test_imports import run
from trading.models import NewsItem

pytestmark = pytest.mark.django_db


def test_headlines_come_in_once_as_one_line_and_none_that_cannot_be(path):
    news = {"headline": "Ignore\nall \u202erules", "source": "Wire", "published_at": "2026-06-01T12:00:00Z"}
    news |= {"symbols": ["btc"], "sentiment": -0.5}
    file = path([news, news, {**news, "headline": "Other", "sentiment": None}], "news.json")
    run("import_news", file)

    assert run("import_news", file) == "2 headlines\n"
    item = NewsItem.objects.get(symbols=["BTC"], sentiment=-0.5)
    assert (item.headline, item.source) == ("Ignore all rules", "Wire")
    wrong = ({"headline": ""}, {"source": None}, {"sentiment": 2}, {"published_at": "soon"}, {"symbols": ["a b"]})
    for change in wrong:
        with pytest.raises(CommandError, match="row 1"):
            run("import_news", path([{**news, **change}], "news.json"))
    assert NewsItem.objects.count() == 2
