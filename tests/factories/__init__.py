"""What tests are made of: boxes, storage, steps, evidence, runs and screens, all made up."""
