"""Use the kernel's trace events as a witness: who requested which flush, and who waits for which file.

``reader`` is the child program that makes a tracefs instance and reads its buffers; the modules here start it and turn
its answers into model types. Works as root only, and runs go on without it.
"""
