"""Child programs for everything else that may hang. Standard library only."""
