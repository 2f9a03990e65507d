"""The command line: parses arguments, calls the packages, prints. Nothing is imported before it is needed."""
