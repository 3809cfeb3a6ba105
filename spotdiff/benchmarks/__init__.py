"""One folder for each benchmark: protocol, tables, published results, notes."""
