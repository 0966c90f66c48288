"""Where opinions meet, and nowhere else: entries, directions, blame, neighbours."""
