"""Where data sets lie, how they are read, and what is checked before a model is asked."""
