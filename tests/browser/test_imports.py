"""Trades of one's own in a browser: a venue's file and a CSV by mapping, from sign-up to the trade's page.

The files of the other venues go through the same pages in `tests/trading/web/test_views_imports.py`.
"""

import gzip
import re
import time

from playwright.sync_api import expect

from tests.browser.looks import check_looks
from tests.browser.test_story import sign_up
from tests.trading.intake.samples import SAMPLES

WITHIN_SECONDS = 120


def choose_file(page, name: str, content: bytes) -> None:
    page.get_by_label("File", exact=True).set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Look at the file").click()


def test_a_new_user_imports_a_venues_file_and_a_csv_by_mapping(site, page, shoot):
    begun = time.monotonic()
    sign_up(page, site, "mara@example.com")
    page.goto(f"{site}/trades/")
    page.get_by_role("main").get_by_role("link", name="Import your trades").click()
    choose_file(page, "Export Trade History.csv", SAMPLES["binance futures"].content)
    expect(page.get_by_role("main")).to_contain_text("Recognised: Binance: futures trade history")
    page.get_by_role("button", name="Import 2 fills").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Binance futures")
    expect(page.get_by_role("main").get_by_role("link", name=re.compile("BTC")).first).to_be_visible()
    assert time.monotonic() - begun < WITHIN_SECONDS

    page.goto(f"{site}/trades/import/")
    content = b"when;what;way;much;at\n01/03/2025 10:00;BTC;buy;0,5;90.000,5\n02/03/2025 10:00;BTC;sell;0,5;91.000,5\n"
    choose_file(page, "mine.csv.gz", gzip.compress(content))
    expect(page.get_by_role("main")).to_contain_text("Choose the column of the time")
    for label, column in {"Date and time": "when", "Symbol": "what", "Side": "way", "Quantity": "much"}.items():
        page.get_by_label(label, exact=False).first.select_option(column)
    page.locator("#mapping-column_price").select_option("at")
    page.get_by_label("Order of dates").select_option("dmy")
    page.get_by_role("button", name="Read the file again").click()
    expect(page.get_by_role("button", name="Import 2 fills")).to_be_visible()
    check_looks(page, shoot, "import-file")
    page.get_by_role("button", name="Import 2 fills").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Imported futures")

    page.goto(f"{site}/trades/import/")
    check_looks(page, shoot, "imports")
    page.get_by_role("button", name=re.compile("Undo the import of mine.csv.gz")).click()
    expect(page.get_by_role("main")).to_contain_text("Undone")
