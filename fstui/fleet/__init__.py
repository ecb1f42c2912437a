"""Run fstui on many hosts at once and compare what they report.

ClusterShell runs ssh to the hosts. A host without fstui gets the one-file build (fstui.pyz). The output of a host
is untrusted, so it is limited in size, decoded like any document, and never executed. Only ``fstui fleet`` imports this
package.
"""
