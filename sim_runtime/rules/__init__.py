"""The checks that need the simulator, registered with the analyzer by whoever runs it (architecture, invariant 8)."""
