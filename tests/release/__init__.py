"""The one-file build, for hosts without network access. See README.md."""
