"""spotdiff: how vision-language models compare what they see, measured the same way in lmms-eval and VLMEvalKit."""

__version__ = "0.1.0"
