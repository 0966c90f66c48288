# C types for state.py, where it is compiled (see setup.py).
from gradcheck.engine cimport native
from gradcheck.engine.tape cimport Leaf, Node, ended

cdef class State:
    cdef object __weakref__
    cdef public object _value, _node, _grad, _leaf, _view
    cdef public list _cell
    cdef public bint _tracked

cdef object ndarray

cpdef object step_of(State t)
cpdef object wrapped(type kind, object value, bint tracked, Node node)
cpdef object moved(State t, object by)
