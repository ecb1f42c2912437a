"""The protocol between child programs and their parent. Standard library only."""
