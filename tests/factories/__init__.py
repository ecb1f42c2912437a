"""Made-up hosts, storage, steps, evidence, runs and screens for tests."""
