"""Models that play a part, for tests and benchmarks: a server of the OpenAI chat API whose replies are a script."""
