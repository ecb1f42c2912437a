"""What was published of other people's storage."""

from fstui.judge.references import library, published

__all__ = ["library", "published"]
