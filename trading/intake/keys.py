"""Keys of venues, encrypted with a key that the database does not hold."""

import json
from typing import Final
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from config.lib.errors import DomainError
from trading.intake.feeds import Credentials

MAX_SECRET: Final = 2_000  # Coinbase's is a private key in text


class KeysUnavailable(DomainError):
    """The site has no encryption key, or another than the one that was used."""


def can_keep_keys() -> bool:
    """Tell whether the site has an encryption key."""
    return bool(settings.VENUE_KEYS)


def encrypt_credentials(credentials: Credentials, *, account_id: UUID) -> str:
    """Return the credentials, readable only for this account. Raises KeysUnavailable."""
    values = [str(account_id), credentials.key, credentials.secret, credentials.password]
    return _open_box().encrypt(json.dumps(values).encode()).decode()


def decrypt_credentials(sealed: str, *, account_id: UUID) -> Credentials:
    """Return the credentials of an account. Raises KeysUnavailable."""
    try:
        owner, *values = json.loads(_open_box().decrypt(sealed.encode()))
    except InvalidToken:
        owner = ""
    if owner != str(account_id):
        raise KeysUnavailable("This key was encrypted with another VENUE_KEYS. Remove the account and add it again.")
    return Credentials(*values)


def _open_box() -> MultiFernet:
    if not settings.VENUE_KEYS:
        raise KeysUnavailable(
            "This site cannot keep keys of venues: its operator has to set VENUE_KEYS. A file, or the public address of"
            " Hyperliquid, needs none."
        )
    return MultiFernet([Fernet(key) for key in settings.VENUE_KEYS])
