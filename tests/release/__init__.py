"""What is carried to a box without a network: one file with everything in it. See README.md."""
