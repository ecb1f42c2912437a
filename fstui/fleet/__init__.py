"""Many boxes at once: fstui is carried there, run by ssh, and its documents are gathered and compared.

ClusterShell reaches them: names, groups, fan-out, timeouts. What a box answers is another's word: it is limited in
size, decoded like any document, and never run. Nothing here is imported by a command that asks one box alone.
"""
