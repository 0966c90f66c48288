"""The rules of the checked language: what each construct may be, and what is refused."""
