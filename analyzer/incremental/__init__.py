"""Looking again only at what an edit has changed: what comes out is what a fresh look at the whole text gives."""
