"""Control flow of a Workfile: what can fail and run where, redo sets, and a graph of it (language page, section 5)."""
