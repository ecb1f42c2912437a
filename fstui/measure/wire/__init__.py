"""What a child and its parent say to each other. Standard library only."""
