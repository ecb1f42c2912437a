"""Functions that draw the content of screens as lines of text for a width and a height."""
