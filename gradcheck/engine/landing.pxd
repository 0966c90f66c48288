# C types for landing.py, where it is compiled (see setup.py).
from gradcheck.engine.state cimport State, cell_of, moved, wrapped
from gradcheck.engine.tape cimport Leaf

cdef object Tensor, float64, ndarray

cdef _deposit(State target, object g, bint create_graph, bint own)
