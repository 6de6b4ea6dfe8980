import pytest
from hypothesis import given
from hypothesis import strategies as st

from trading.models.packing import pack_text, unpack_text

LINES = [f"- 2026-05-{n // 24:02d}T{n % 24:02d}:00 {100 + n * n % 7919} {n % 17}" for n in range(400)]
BASE, NEXT = "\n".join(LINES[:-1]), "\n".join(LINES[1:])


@given(text=st.text(), base=st.text())
def test_a_text_comes_back(text, base):
    assert unpack_text(pack_text(text, base), base) == text


def test_a_text_that_resembles_its_base_is_small():
    assert len(pack_text(NEXT, BASE)) < 200 < 2000 < len(pack_text(NEXT))


@pytest.mark.parametrize(
    ("packed", "base"),
    [(pack_text(NEXT, BASE), ""), (pack_text(NEXT, BASE), NEXT), (pack_text(NEXT)[:-9], ""), (b"?", "")],
    ids=["no base", "another base", "cut off", "not packed"],
)
def test_what_cannot_be_read_is_refused(packed, base):
    with pytest.raises(ValueError, match=r"Error|cut off"):
        unpack_text(packed, base)
