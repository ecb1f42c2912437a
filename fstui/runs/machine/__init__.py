"""Where a run happens: this host (``local``), a saved run (``replay``) or simulated storage (``simulated``)."""
