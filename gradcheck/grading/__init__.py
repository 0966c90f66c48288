"""Answers judged, marked as a teacher does, and explained; what a problem is judged by."""
