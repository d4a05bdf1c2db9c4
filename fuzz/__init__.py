"""Fuzzing of everything that reads files from elsewhere."""
