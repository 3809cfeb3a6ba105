"""spotdiff's benchmarks as VLMEvalKit data sets, and the `vlmeval` command."""
