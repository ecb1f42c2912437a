"""The classroom's laboratory: real storage on this box, honest and lying, with the truth of each in an envelope."""
