"""gradcheck: three independent opinions on a derivative, and the name of the mistake."""
