"""All words: tables, carets, pages. No arithmetic here."""
