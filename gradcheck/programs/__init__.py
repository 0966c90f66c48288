"""Answers that are programs: read, run within an allowance, judged and explained."""
