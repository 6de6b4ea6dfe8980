from uuid import uuid4

import pytest

from tests.factories.memory import JUNE, MAY
from tests.factories.record import TradeFactory
from trading.models import TradeRemark
from trading.models.remarks import MAX_REMARK, MAX_TAGS
from trading.record.remarks import RemarkRefused, get_remark, list_tags, write_remark
from trading.record.trade_queries import TradeFilter, TradeNotFound, select_trades


def test_write_remark_changes_only_what_is_given(as_trader):
    trade = TradeFactory()

    write_remark(
        trade_id=trade.pk, text=" Chased it.\r\nAgain. ", tags=["Late entry", "late-entry", "", "News!"], now=MAY
    )
    write_remark(trade_id=trade.pk, tags=["news"], now=JUNE)

    remark = get_remark(trade.pk)
    assert (remark.text, remark.tag_names, remark.updated_at) == ("Chased it.\nAgain.", ["news"], JUNE)
    write_remark(trade_id=trade.pk, text="", now=JUNE)
    assert (get_remark(trade.pk).text, get_remark(trade.pk).tag_names) == ("", ["news"])


@pytest.mark.limit("trading.models.remarks.MAX_REMARK", "trading.models.remarks.MAX_TAGS")
def test_write_remark_refuses_too_much_and_no_trade(as_trader):
    trade_id = TradeFactory().pk
    for given in ({"text": "x" * (MAX_REMARK + 1)}, {"tags": [f"t{n}" for n in range(MAX_TAGS + 1)]}):
        with pytest.raises(RemarkRefused):
            write_remark(trade_id=trade_id, **given, now=MAY)
    with pytest.raises(TradeNotFound):
        write_remark(trade_id=uuid4(), text="x", now=MAY)
    assert get_remark(trade_id).tag_names == []
    assert not TradeRemark.objects.exists()


def test_a_tag_selects_its_trades_and_no_longer_tag(as_trader):
    one, other, _ = TradeFactory(), TradeFactory(), TradeFactory()
    write_remark(trade_id=one.pk, tags=["news", "100%_sure"], now=MAY)
    write_remark(trade_id=other.pk, tags=["newsletter"], now=MAY)

    assert list(select_trades(TradeFilter(tag="news"))) == [one]
    assert list(select_trades(TradeFilter(tag="new%"))) == []
    assert list_tags() == ["100-sure", "news", "newsletter"]


def test_a_rebuilt_trade_keeps_its_remark(as_trader):
    trade = TradeFactory()
    write_remark(trade_id=trade.pk, text="Mine", now=MAY)

    type(trade).objects.filter(pk=trade.pk).delete()  # as a rebuild does, which then writes the same id again
    TradeFactory(id=trade.pk, deployment=trade.deployment)

    assert get_remark(trade.pk).text == "Mine"
