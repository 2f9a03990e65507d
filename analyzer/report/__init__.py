"""Reports: pure functions from a ``Report`` to text, one file a format."""
