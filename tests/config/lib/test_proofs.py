"""Which proofs a service takes for an act that counts."""

from datetime import timedelta

import pytest

from config.lib.proofs import (
    OPERATOR,
    Door,
    Proof,
    ProofRefused,
    SecondFactorNeeded,
    SignInNeeded,
    require_factor,
    require_sign_in,
)
from tests.factories.memory import JUNE

FIVE_MINUTES = timedelta(minutes=5)


@pytest.fixture
def careful(settings):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = True


@pytest.mark.parametrize(
    "proof",
    [
        Proof(Door.SESSION, factor_at=JUNE - FIVE_MINUTES + timedelta(seconds=1)),
        Proof(Door.TOKEN, may_write=True),
        Proof(Door.STAFF, reason="ticket 12"),
        OPERATOR,
    ],
    ids=str,
)
def test_require_factor_takes_what_a_door_can_show(careful, proof):
    require_factor(proof, now=JUNE)


@pytest.mark.parametrize(
    "proof",
    [Proof(Door.SESSION, signed_in_at=JUNE), Proof(Door.SESSION, factor_at=JUNE - FIVE_MINUTES, page="/skills/")],
    ids=str,
)
def test_require_factor_asks_a_session_once_more(careful, settings, proof):
    with pytest.raises(SecondFactorNeeded) as refusal:
        require_factor(proof, now=JUNE)

    assert refusal.value.page == proof.page
    settings.CONFIRM_NEEDS_SECOND_FACTOR = False
    require_factor(proof, now=JUNE)


@pytest.mark.parametrize("proof", [Proof(Door.TOKEN), Proof(Door.STAFF)], ids=str)
def test_require_factor_refuses_a_door_that_shows_nothing_on_every_site(proof):
    with pytest.raises(ProofRefused):
        require_factor(proof, now=JUNE)


def test_require_sign_in_asks_a_session_that_signed_in_long_ago_alone():
    for proof in (Proof(Door.SESSION), Proof(Door.SESSION, signed_in_at=JUNE - FIVE_MINUTES)):
        with pytest.raises(SignInNeeded):
            require_sign_in(proof, now=JUNE)
    for proof in (Proof(Door.SESSION, signed_in_at=JUNE), Proof(Door.TOKEN), Proof(Door.STAFF), OPERATOR):
        require_sign_in(proof, now=JUNE)
