"""Hashed static files, imports between modules included."""

from typing import Final

from django.contrib.staticfiles.storage import HashedFilesMixin
from servestatic.storage import CompressedManifestStaticFilesStorage

_IMPORTS: Final = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compressed files with hashed names.

    Imports between our modules are rewritten, or a deploy would mix old and new ones. Django's own switch for this
    looks at every script, also at those of packages, whose imports need not lead to a file.
    """

    patterns = (*HashedFilesMixin.patterns, ("chat/*.js", _IMPORTS), ("js/*.js", _IMPORTS))
