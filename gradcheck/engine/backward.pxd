# C types for backward.py, where it is compiled (see setup.py).
from gradcheck.engine cimport arrays
from gradcheck.engine.tape cimport Leaf, Node, expect_saved

cdef object NUMBER, float64, ndarray

cdef dict _seeded(object roots, object verbs)
cdef object _own(object g, bint fresh=*)
cdef Node _latest(object waiting, Node ahead)
