"""From stored media to the pixels that a model sees."""
