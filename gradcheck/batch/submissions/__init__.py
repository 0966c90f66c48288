"""What students handed in, read lazily and without running anything."""
