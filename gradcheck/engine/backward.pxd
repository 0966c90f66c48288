# C types for backward.py, where it is compiled (see setup.py).
from gradcheck.engine.tape cimport Leaf, Node, saved

cdef object _own(object g, bint fresh=*)
