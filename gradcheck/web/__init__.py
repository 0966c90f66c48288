"""Practice in a browser: pages of problem sets, workers that judge, attempts in a ledger."""
