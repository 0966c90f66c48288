"""Running a checked program: within its budget, on any kind of number."""
