"""Texts that one task makes and a later one reads: captions of clips and images, summaries of captions."""
