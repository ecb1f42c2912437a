"""Run fstui on many hosts at once and compare what they report.

ClusterShell reaches the hosts through ssh; the one-file build is carried to those that lack fstui. A host's answer is
untrusted: it is limited in size, decoded like any document, and never run. Only ``fstui fleet`` imports this package.
"""
