"""How large an exponent may be, wherever one is typed or comes up in a run."""

DECIMAL = 400  # of ten in a typed decimal; float64 itself ends at 308
FORMULA = 1_000  # of a power in an answer: exact numbers of 1,000 digits are quick
STUDENT_PROGRAM = 400  # of a power of whole numbers in an answer that is a program
PROGRAM = 10_000  # of a power of whole numbers in a problem's own program
