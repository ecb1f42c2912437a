"""Child programs for everything that may hang, except for the measurements. Standard library only."""
