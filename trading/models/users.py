from typing import Any, ClassVar
from zoneinfo import available_timezones

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower


class ExperienceTier(models.TextChoices):
    """How much the coach explains; it limits nothing."""

    NOVICE = "novice", "Novice"
    INTERMEDIATE = "intermediate", "Intermediate"
    EXPERT = "expert", "Expert"


class LowerEmailField(models.EmailField):  # type: ignore[type-arg]
    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return value.lower() if isinstance(value, str) else value

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        return value.lower() if isinstance(value, str) else value


class TraderManager(BaseUserManager["Trader"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "Trader":
        """Create a trader; without a password no sign-in."""
        trader = self.model(email=email.strip().lower(), **fields)
        trader.set_password(password)
        trader.save(using=self._db)
        return trader

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "Trader":
        trader = self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})
        trader.verify_address()
        return trader

    def get_by_natural_key(self, username: str | None) -> "Trader":
        return self.get(email=(username or "").lower())


def validate_time_zone(name: str) -> None:
    """Refuse a name that is no IANA time zone."""
    if name not in available_timezones():
        raise ValidationError("This is not a time zone that Keel knows.")


class Trader(AbstractUser):
    username = None  # type: ignore[assignment]
    email = LowerEmailField("e-mail address", unique=True)
    # Null until asked; treated as intermediate.
    experience_tier = models.CharField(  # noqa: DJ001  null and "" are not two words for the same here: "" is refused
        max_length=12, choices=ExperienceTier, null=True, blank=True, default=None
    )
    time_zone = models.CharField(max_length=64, default="UTC", validators=[validate_time_zone])  # IANA name

    skipped_steps: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # of the first run
    staff_log_seen_at = models.DateTimeField(null=True, blank=True)  # when the page of the staff log was open last
    daily_token_budget = models.PositiveBigIntegerField(null=True, blank=True)  # null: the setting's

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = TraderManager()  # type: ignore[assignment,misc]

    class Meta:
        db_table = "traders"
        constraints = (
            models.UniqueConstraint(Lower("email"), name="trader_email_unique_without_case"),
            models.CheckConstraint(
                condition=models.Q(experience_tier__isnull=True) | models.Q(experience_tier__in=ExperienceTier.values),
                name="trader_tier_known",
            ),
        )

    def __str__(self) -> str:
        return str(self.email)

    def verify_address(self) -> None:
        """Take the address as verified: who makes an account by a command vouches for it, and no mail is needed."""
        from allauth.account.models import EmailAddress  # noqa: PLC0415 - it needs this model

        EmailAddress.objects.create(user=self, email=self.email, verified=True, primary=True)
