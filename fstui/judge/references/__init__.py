"""What rates are held against: what others have published, and what the user measured on storage of their own."""

from fstui.judge.references.own import applying, beside, of_runs, unfit
from fstui.judge.references.placement import Placement, placed
from fstui.judge.references.published import (
    NEVER_SYNCED,
    Operation,
    PublishedClass,
    Reference,
    any_class,
    class_of,
    expand,
    library,
    operation_of,
    published,
)

__all__ = [
    "NEVER_SYNCED", "Operation", "Placement", "PublishedClass", "Reference", "any_class", "applying", "beside",
    "class_of", "expand", "library", "of_runs", "operation_of", "placed", "published", "unfit",
]  # fmt: skip
