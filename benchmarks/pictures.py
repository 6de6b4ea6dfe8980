"""Take the pictures of the product for the landing page and the README, and draw the app's icons.

It seeds a demo in a database of its own, serves it, signs in and photographs pages: `make pictures`.
"""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT: Final = Path(__file__).parent.parent
PICTURES: Final = ROOT / "static" / "pictures"
ICONS: Final = ROOT / "static" / "icons"
PAGES: Final = {"home": "/", "facts": "/profile/facts/", "trades": "/trades/", "calendar": "/calendar/"}
SIZE: Final = {"width": 1280, "height": 800}
WAIT_SECONDS: Final = 60
QUALITY: Final = 72  # of WebP


@contextmanager
def demo_site() -> Iterator[tuple[str, str]]:
    """Serve a fresh demo; yield its address and its user's password."""
    with TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        own = {"READ_DOT_ENV": "false", "DATABASE_URL": f"sqlite:///{folder}/demo.sqlite3", "REDIS_URL": ""}
        environment = {**os.environ, **own, "DEBUG": "true"}
        run = [sys.executable, "manage.py"]
        subprocess.run([*run, "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
        seeded = subprocess.run(
            [*run, "seed_demo", "--json"], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        )
        password = re.findall(r'"password": "([^"]+)"', seeded.stdout)[-1]
        server = subprocess.Popen([*run, "up", "--port", str(port)], cwd=ROOT, env=environment)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(port)
            yield address, password
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError("the demo does not answer")


def take_picture(page: Page, name: str) -> None:
    """Keep the window as a small WebP file."""
    shot = Image.open(BytesIO(page.screenshot()))
    shot.convert("RGB").save(PICTURES / f"{name}.webp", quality=QUALITY, method=6)


def draw_icons(browser: Browser) -> None:
    """Draw the icons of the installed app from the mark."""
    mark = (ROOT / "static" / "favicon.svg").read_text()
    for name, size, room in (("192", 192, 0), ("512", 512, 0), ("maskable", 512, 51)):  # a mask cuts the edges off
        page = browser.new_page(viewport={"width": size, "height": size})
        style = f"margin:0;background:{'#0b605b' if room else 'none'}"
        page.set_content(f'<body style="{style}"><div style="padding:{room}px">{mark}</div></body>')
        shot = page.screenshot(omit_background=True)
        Image.open(BytesIO(shot)).quantize(64).save(ICONS / f"{name}.png", optimize=True)
        page.close()


def main() -> None:
    """Write all pictures and icons."""
    PICTURES.mkdir(exist_ok=True)
    ICONS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM"), args=["--no-sandbox"])
        draw_icons(browser)
        if "--icons" in sys.argv:
            return
        with demo_site() as (address, password):
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{address}/accounts/login/")
            page.fill("input[name=login]", "demo@example.com")
            page.fill("input[name=password]", password)
            page.click("button[type=submit]")
            for name, path in PAGES.items():
                page.goto(address + path, wait_until="load")
                page.wait_for_timeout(1_000)  # charts draw themselves
                take_picture(page, name)
            _take_chat(page, address)
    total = sum(file.stat().st_size for folder in (PICTURES, ICONS) for file in folder.iterdir())
    print(f"{total / 1024:.0f} kB in {PICTURES.relative_to(ROOT)} and {ICONS.relative_to(ROOT)}")


def _take_chat(page: Page, address: str) -> None:
    page.goto(f"{address}/chat/?new=1")
    page.wait_for_selector("[data-chat][data-ready]")
    for said in ("Remember that I stop for the day after two losses.", "What is my win rate by symbol?"):
        page.fill(".composer__input", said)
        page.keyboard.press("Enter")
        page.wait_for_timeout(1_000)
        page.wait_for_selector('.message--assistant:last-of-type[data-status="complete"]')
    take_picture(page, "chat")


if __name__ == "__main__":
    main()
