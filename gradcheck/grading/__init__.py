"""Submissions in, answers judged, a ledger of results."""
