# C types for backward.py, where it is compiled (see setup.py).
cimport gradcheck.engine.native as native
from gradcheck.engine.tape cimport Leaf, Node, expect_saved

cdef object NUMBER, passed, float64, ndarray

cdef object _piece(Node node, Py_ssize_t i, object g, object y, tuple operands, object rules)
cdef tuple _values(Node node, object read)
cdef object _rules(Node node, object y, tuple operands)
