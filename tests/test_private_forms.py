"""What a form takes in secret never comes back in its page."""

from importlib import import_module

from django import forms
from django.contrib import admin

from config.lib.edge.responses import _NEVER_SHOWN
from tests.source import modules
from tests.tables import each_case

SECRET = (*_NEVER_SHOWN, "pass")


def list_secret_fields() -> list[tuple[type[forms.BaseForm], str]]:
    """Return each field for text, of a form of ours, whose name says that it holds a secret."""
    admin.autodiscover()
    for name in modules():
        if "forms" in name.rpartition(".")[2] or name.endswith("second_factor"):
            import_module(name)
    found, known = [], [forms.BaseForm]
    while known:
        form = known.pop()
        known += form.__subclasses__()
        if form.__module__ in modules():
            texts = (name for name, field in form.base_fields.items() if isinstance(field, forms.CharField))
            found += [(form, name) for name in texts if any(word in name for word in SECRET)]
    return found


@each_case("form, name", list_secret_fields())
def test_secret_of_a_refused_form_is_not_in_its_page(form, name):
    widget = form.base_fields[name].widget

    assert widget.is_hidden or "canary" not in widget.render(name, "canary"), f"{form.__name__}.{name}: SecretInput"


def test_keys_of_venues_are_among_the_secrets():
    found = {f"{form.__name__}.{name}" for form, name in list_secret_fields()}

    assert {"AccountForm.key", "AccountForm.secret", "AccountForm.password"} <= found
