"""What the words of pages and screens mean."""

from fstui.glossary import find, standing_in, titled, words

__all__ = ["find", "standing_in", "titled", "words"]
