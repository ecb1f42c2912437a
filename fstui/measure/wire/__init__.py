"""The protocol between child programs and their parent. Imports only the standard library."""
