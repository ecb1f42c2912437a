"""Child programs that answer a question or look after something. Standard library only."""
