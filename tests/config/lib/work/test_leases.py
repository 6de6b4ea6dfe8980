import threading

from config.lib.work import leases
from config.lib.work.leases import keep_lease


def test_keep_lease_renews_until_the_work_ends_and_survives_a_failure(monkeypatch, caplog):
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.001)
    renewals, enough = [], threading.Event()

    def renew():
        renewals.append(1)
        if len(renewals) == 3:
            enough.set()
        if len(renewals) == 1:
            raise OSError("away")

    with keep_lease(renew):
        assert enough.wait(30)
    for thread in threading.enumerate():
        if thread.name == "lease":
            thread.join(30)
    count = len(renewals)

    assert "A lease was not renewed" in caplog.text
    assert count >= 3
    assert not any(thread.name == "lease" for thread in threading.enumerate())
