"""The terminal app. Textual reads its settings when it is imported, so ours are in place before that."""

from fstui.tui.terminal_settings import prepare

prepare()
