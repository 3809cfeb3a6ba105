"""Scored answers as they are written to, and read from, the logs of a run."""
