# C types for tape.py, where it is compiled (see setup.py).
cimport cython
cimport gradcheck.engine.native as native

@cython.final
cdef class Node:
    cdef object __weakref__
    cdef public object op, params, y, hooks, keeper, span
    cdef public long long order
    cdef public tuple edges, forms, operands, watch

    cpdef release(self)

@cython.final
cdef class Leaf:
    cdef object __weakref__
    cdef public object variable, hooks
    cdef public long long order

cdef class State:
    cdef object __weakref__
    cdef public object _value, _node, _grad, _leaf, _view
    cdef public list _writes
    cdef public bint _tracked, _parameter

@cython.final
cdef class Waiting:
    cdef Node ahead
    cdef list heap

    @cython.locals(ahead=Node)
    cdef put(self, Node node)
    cdef Node take(self)

cdef list RECENT, UNUSUAL
cdef object float64, ndarray

cpdef Node make_node(
    object op, tuple edges, tuple forms, tuple operands, object params, object y, tuple watch
)
cpdef Leaf make_leaf(object variable)
@cython.locals(watch=tuple, cell=list, k=cython.Py_ssize_t)
cpdef tuple read_saved(Node node)
@cython.locals(spot=cython.Py_ssize_t, known=tuple)
cpdef tuple stand_in(object value)

@cython.locals(operands=tuple, i=cython.Py_ssize_t)
cdef _send_on(
    Node node, object g, tuple saved, set wanted, dict arrived, Waiting waiting, object verbs
)
cdef object _pull_and_fit(Node node, Py_ssize_t i, object g, object y, tuple operands, object rules)
cdef _copy_known(dict landed)
cdef _arrive(object step, object g, dict arrived, Waiting waiting, object verbs)
cpdef list find_cell(State t)
cpdef object step_of(State t)
cpdef object wrap(type kind, object value, bint tracked, Node node)
cpdef object _move(State t, object by)
cdef _deposit(State target, object g, bint create_graph, bint own)
