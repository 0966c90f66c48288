# native.py in C, for the modules that are compiled (see setup.py).
from cpython.ref cimport Py_REFCNT
from numpy cimport PyArray_BASE, PyArray_DESCR, PyArray_DIMS, PyArray_NDIM, ndarray, npy_intp

# A clock of each module's own: tape.py, which makes every node, is the one to ask.
cdef extern from *:
    """
    static long long gradcheck_ticks = 0;
    """
    long long gradcheck_ticks

cdef inline object make(type kind, tuple unset):
    return kind.__new__(kind)

cdef inline long long tick():
    global gradcheck_ticks
    gradcheck_ticks += 1
    return gradcheck_ticks

cdef inline Py_ssize_t spot(object a):
    cdef npy_intp* sizes = PyArray_DIMS(a)
    cdef int k, ndim = PyArray_NDIM(a)
    cdef size_t mixed = ndim
    for k in range(ndim):
        mixed = mixed * 31 + <size_t>sizes[k] + (<size_t>sizes[k] >> 6)
    return mixed & 63

cdef inline bint has_shape(object a, tuple shape):
    if type(a) is not ndarray:
        return a.shape == shape
    cdef npy_intp* sizes = PyArray_DIMS(a)
    cdef int k, ndim = PyArray_NDIM(a)
    if ndim != len(shape):
        return False
    for k in range(ndim):
        if sizes[k] != <npy_intp>shape[k]:
            return False
    return True

cdef inline bint of_type(object a, object dtype):
    return type(a) is ndarray and <object>PyArray_DESCR(a) is dtype

cdef inline bint has_form(object a, tuple form):
    if type(a) is not ndarray:
        return a.shape == form[0] and a.dtype is form[1]
    return has_shape(a, form[0]) and <object>PyArray_DESCR(a) is form[1]

cdef inline bint is_alone(object a):
    return PyArray_BASE(a) is NULL and Py_REFCNT(a) <= 2
