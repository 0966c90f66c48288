from gradcheck.answers2.answer import Entries, Numbers, Plain, read_answer
from gradcheck.answers2.echo import echo
from gradcheck.answers2.formula import Formula, other_readings, read_formula
from gradcheck.answers2.shapes import misfit
from gradcheck.answers2.words import ALIASES, FUNCTIONS
