"""What another box, or a program, answers for; and where that lies if it is this very box."""
