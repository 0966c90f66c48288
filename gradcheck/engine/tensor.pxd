# C types for tensor.py, where it is compiled (see setup.py).
cimport gradcheck.engine.native as native
from gradcheck.engine.state cimport State, cell_of, step_of, wrap
from gradcheck.engine.tape cimport Leaf, Node, make_node, stand_in

cdef list UNUSUAL
cdef object FLOAT, NONE, float64, ndarray

cdef tuple _watched(State left, State right)
cdef _keep(Node node, object y, State out)
cdef bint _looks(object y, object u)
