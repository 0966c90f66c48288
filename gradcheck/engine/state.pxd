# C types for state.py, where it is compiled (see setup.py).
cimport gradcheck.engine.native as native
from gradcheck.engine.tape cimport Leaf, Node, make_leaf

cdef class State:
    cdef object __weakref__
    cdef public object _value, _node, _grad, _leaf, _view
    cdef public list _writes
    cdef public bint _tracked, _parameter

cdef list UNUSUAL
cdef object ndarray, float64

cpdef object constant(object value)
cpdef list cell_of(State t)
cpdef object step_of(State t)
cpdef object wrap(type kind, object value, bint tracked, Node node)
cpdef object _move(State t, object by)
cdef _deposit(State target, object g, bint create_graph, bint own)
