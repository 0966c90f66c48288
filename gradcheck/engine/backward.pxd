# C types for backward.py, where it is compiled (see setup.py).
from gradcheck.engine cimport native
from gradcheck.engine.tape cimport Leaf, Node, expect_saved

cdef object NUMBER, passed, float64, ndarray

cdef dict _seeded(object roots, object verbs)
cdef object _own(object g, bint fresh=*)
