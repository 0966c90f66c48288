"""A batch: submissions read one by one, answers judged by workers, everything kept in a ledger."""
