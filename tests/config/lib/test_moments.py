"""Instants as templates write them, in the zone of the reader."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.template import Context, Template
from django.utils import timezone

from tests.tables import each_case

LATE = datetime(2026, 6, 4, 22, 30, tzinfo=UTC)


def write(source: str, at: datetime | None) -> str:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        return Template(source).render(Context({"at": at}))


@each_case(
    "name, text", {"moment": "5 Jun 2026, 00:30", "zoned_moment": "5 Jun 2026, 00:30 CEST", "day": "5 Jun 2026"}.items()
)
def test_an_instant_is_written_in_the_readers_zone_with_its_utc(name, text):
    found = write(f"{{{{ at|{name} }}}}", LATE)

    assert found == f'<time datetime="2026-06-05T00:30:00+02:00" title="2026-06-04 22:30 UTC">{text}</time>'
    assert write(f"{{{{ at|{name} }}}}{{{{ nothing|{name} }}}}", None) == ""


def test_a_recent_instant_is_written_short():
    today = datetime.now(ZoneInfo("Europe/Berlin"))
    other = today.replace(month=7 if today.month < 7 else 6, day=4)

    assert write("{{ at|when }}", today) == f"{today:%H:%M}"
    assert write("{{ at|when }}", datetime(today.year - 1, 6, 4, 10, tzinfo=UTC)) == f"4 Jun {today.year - 1}"
    assert write("{{ at|when }}", other) == f"4 {other:%b}"
