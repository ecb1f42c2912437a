"""Where it happens: this box, or a saved run played again. The runner knows only what both can do (``base``)."""
