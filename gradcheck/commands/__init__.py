"""What each command does, printing and exit code included; the words are `report`'s."""
