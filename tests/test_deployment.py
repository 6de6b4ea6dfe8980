"""The deployment pack: parsed and compared with the code, as nothing here runs Docker."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from configparser import ConfigParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from packaging.requirements import Requirement

from chat.management.commands.up import GRACE_SECONDS, REQUEST_SECONDS
from chat.turns.live import SHUTDOWN_SECONDS
from tests.tables import each_case

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = ("app", "worker", "migrate")
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
LISTED = set(re.findall(r"^# ?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_compose_has_proxy_site_worker_database_and_redis():
    assert SERVICES.keys() == {"proxy", "app", "worker", "migrate", "database", "redis"}
    assert COMPOSE["volumes"].keys() == {"proxy", "keel", "database"}


def test_only_the_proxy_is_reached_from_outside():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"proxy"}


def test_requests_and_turns_end_within_the_grace_that_the_manual_promises():
    assert REQUEST_SECONDS + SHUTDOWN_SECONDS < GRACE_SECONDS
    assert "within ten seconds" in (ROOT / "docs" / "operations.md").read_text()


@each_case("name", OURS)
def test_service_of_ours_is_confined_waits_and_has_known_settings(name):
    service = SERVICES[name]

    assert set(service["environment"]) - {"POSTGRES_PASSWORD"} <= LISTED
    # Its file has the superuser's password, too, which must not come with it.
    assert (service["env_file"], service["environment"]["POSTGRES_PASSWORD"]) == (".env", "")
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert seconds(service["stop_grace_period"]) > GRACE_SECONDS
    assert service["environment"]["DATABASE_URL"].startswith("postgresql://keel:")
    if name != "migrate":
        assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


@each_case("name", ["worker", "migrate"])
def test_command_of_a_service_exists(name):
    program, command = SERVICES[name]["command"]

    assert program == "keel"
    assert command in get_commands()


def test_health_check_asks_a_name_that_the_site_answers_to():
    hosts = SERVICES["app"]["environment"]["ALLOWED_HOSTS"]
    checked = re.search(r"http://([\d.]+):8000/healthz/", (ROOT / "Dockerfile").read_text())

    assert checked
    assert checked[1] in hosts.split(",")


def test_image_installs_by_hash_and_each_image_is_named_by_its_digest():
    text = (ROOT / "Dockerfile").read_text()
    images = [*re.findall(r"^FROM (\S+)", text, re.MULTILINE), *(SERVICES[name]["image"] for name in SERVICES)]
    listed = (ROOT / ".dockerignore").read_text()

    for line in re.findall(r"pip install .*", text):
        assert "--require-hashes -r requirements/" in line or "--no-deps --no-index" in line
    for lock in re.findall(r"-r (requirements/\S+)", text):
        assert re.search(rf"^COPY .*{lock}", text, re.MULTILINE)
        assert f"!{lock}" in listed
    unnamed = [image for image in images if image != "keel" and not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)]
    assert not unnamed


def test_operations_page_installs_by_hash():
    text = (ROOT / "docs" / "operations.md").read_text()

    for command in re.findall(r"(?:pip|pipx|uv tool) install[^`]*", text):
        assert re.search(r"--require-hashes.*requirements/site\.txt|--no-deps dist/keel-", command)


def test_image_runs_without_root_and_has_every_package():
    text = (ROOT / "Dockerfile").read_text()
    stage = text[text.rindex("FROM ") :]

    assert re.search(r"^USER keel$", stage, re.MULTILINE)
    assert stage.index("USER keel") < stage.index("CMD [")
    copied = set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE))
    assert copied == {"chat", "config", "memory", "offline", "trading", "templates", "static"}
    listed = (ROOT / ".dockerignore").read_text()
    assert all(f"!{folder}" in listed for folder in copied)


def test_proxy_takes_the_largest_body_and_hides_metrics():
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    limit = int(re.search(r"max_size (\d+)MB", text)[1]) * 1_000_000

    assert max(settings.LARGER_BODIES.values()) <= limit <= 2 * max(settings.LARGER_BODIES.values())
    assert "respond /metrics 404" in text


def test_role_is_bound_by_policies_and_owns_the_database():
    text = (ROOT / "deploy" / "create-role.sh").read_text()

    assert "NOSUPERUSER NOBYPASSRLS" in text
    assert "CREATE DATABASE keel OWNER keel" in text


@each_case("path", UNITS)
def test_unit_runs_a_command_of_ours_as_a_user_and_has_time_to_stop(path):
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(path.read_text())
    service = unit["Service"]
    program, command, *_ = service["ExecStart"].split()

    assert (service["User"], program) == ("keel", "/usr/local/lib/keel/bin/keel")
    assert command in get_commands()
    if service.get("Type") != "oneshot":
        assert service["Restart"] == "always"
        assert int(service["TimeoutStopSec"]) > GRACE_SECONDS


def test_operations_page_names_the_files_of_the_pack():
    text = (ROOT / "docs" / "operations.md").read_text()

    for name in ("compose.yaml", "deploy/create-role.sh", "deploy/systemd", "deploy/Caddyfile"):
        assert name in text
        assert (ROOT / name).exists()


def list_installed(wanted: list[Requirement]) -> set[str]:
    """Return the names of what is installed with requirements, of this platform."""
    names, done = set(), set()
    while wanted:
        one = wanted.pop()
        for extra in {"", *one.extras} - {extra for name, extra in done if name == one.name}:
            done.add((one.name, extra))
            names.add(one.name)
            needs = map(Requirement, distribution(one.name).requires or [])
            wanted += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
    return names


def test_base_install_has_less_than_350_megabytes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    names = list_installed([Requirement(line) for line in project["dependencies"]])

    files = {place.locate() for name in names for place in distribution(name).files if place.suffix != ".pyc"}
    megabytes = {file: file.stat().st_size / 1e6 for file in files if file.exists()}
    code = sum(size for file, size in megabytes.items() if file.suffix == ".py")
    assert 200 < sum(megabytes.values()) + code < 350, "bytecode is as large as its source"


@pytest.mark.long
def test_wheel_holds_pages_and_runs_the_checks_outside_of_the_checkout(tmp_path):
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists() and not shutil.which("uv"):
        pytest.skip("uv is not installed")
    built = subprocess.run(["make", "wheel", f"DIST={tmp_path}"], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"the build backend cannot be had here: {built.stderr[-200:]}")
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    entry = "import sys; sys.argv = ['keel', 'check']; from config.command import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", entry],
        cwd=tmp_path / "site",
        env={"PATH": "/usr/bin:/bin", "KEEL_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/config/pages/site.txt").read_text() == (ROOT / "requirements" / "site.txt").read_text()
    assert (tmp_path / "site/config/pages/templates/base.html").exists()
    assert (tmp_path / "site/config/pages/static/css/base.css").exists()
    assert list((tmp_path / "site").glob("*.dist-info/licenses/LICENSE"))
    assert "keel = config.command:main" in next((tmp_path / "site").glob("*.dist-info/entry_points.txt")).read_text()
