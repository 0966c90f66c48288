# C types for backward.py, where it is compiled (see setup.py).
cimport gradcheck.engine.native as native
from gradcheck.engine.tape cimport Leaf, Node, expect_saved

cdef object NUMBER, passed, float64, ndarray

cdef dict _seeded(object roots, object verbs)
cdef dict _after_hooks(dict arrived)
cdef Node _latest(object waiting, Node ahead)
cdef object _own(object g, bint fresh=*)

cdef object _piece(
    Node node, Py_ssize_t i, object g, object y, tuple operands, tuple rules, object verbs
)
