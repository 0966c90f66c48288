# C types for tensor.py, where it is compiled (see setup.py).
cimport cython
cimport gradcheck.engine.native as native
from gradcheck.engine.tape cimport (
    Leaf, Memory, Node, State, find_memory, make_node, stand_in, step_of, wrap,
)

cdef list UNUSUAL
cdef object FLOAT, NONE, float64, ndarray

cpdef object as_numpy(object value)
@cython.locals(watch=tuple, memory=Memory, node=Node, out=State)
cdef object _record(
    object row, State left, State right, object u, object v, object y, tuple keeps, object params
)
