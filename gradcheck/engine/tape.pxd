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

@cython.final
cdef class Memory:
    cdef public long long version
    cdef public str writer
    cdef public Memory source

cdef class State:
    cdef object __weakref__
    cdef public object _value, _node, _grad, _leaf, _view
    cdef public Memory _writes
    cdef public bint _tracked, _parameter

@cython.final
cdef class Waiting:
    cdef Node ahead
    cdef object g, accumulate
    cdef list heap
    cdef dict arrived

    @cython.locals(node=Node)
    cdef add(self, object step, object g)
    cdef Node take(self)

cdef list RECENT, UNUSUAL
cdef object float64, ndarray

cpdef Node make_node(object op, tuple edges, tuple forms, tuple operands, object params)
cpdef tuple read_saved(Node node)
@cython.locals(watch=tuple, k=cython.Py_ssize_t, memory=Memory)
cpdef check_saved(Node node)
@cython.locals(spot=cython.Py_ssize_t, known=tuple)
cpdef tuple stand_in(object value)

@cython.locals(operands=tuple, i=cython.Py_ssize_t)
cdef _send_on(Node node, object g, object read, set wanted, Waiting waiting, object verbs)
cdef object _pull_and_fit(Node node, Py_ssize_t i, object g, object y, tuple operands, object rules)
cdef _copy_known(dict landed)
@cython.locals(memory=Memory)
cpdef Memory find_memory(State t)
@cython.locals(memory=Memory)
cpdef count_write(State t)
@cython.locals(leaf=Leaf)
cpdef object step_of(State t)
cpdef object wrap(type kind, object value, bint tracked, Node node)
cpdef object _move(State t, object by)
cdef _deposit(State target, object g, bint create_graph, bint own)
