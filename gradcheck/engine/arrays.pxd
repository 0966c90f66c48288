# arrays.py in C, for the modules that are compiled (see setup.py).
from numpy cimport PyArray_BASE, PyArray_DESCR, PyArray_DIMS, PyArray_NDIM, ndarray, npy_intp

cdef inline tuple shape_of(object a):
    cdef npy_intp* sizes = PyArray_DIMS(a)
    cdef int ndim = PyArray_NDIM(a)
    if ndim == 2:
        return (sizes[0], sizes[1])
    return a.shape if ndim > 1 else (sizes[0],) if ndim else ()

cdef inline bint has_form(object a, tuple form):
    cdef tuple shape = form[0]
    if type(a) is not ndarray:
        return a.shape == shape and a.dtype is form[1]
    cdef npy_intp* sizes = PyArray_DIMS(a)
    cdef int k, ndim = PyArray_NDIM(a)
    if ndim != len(shape) or <object>PyArray_DESCR(a) is not form[1]:
        return False
    for k in range(ndim):
        if sizes[k] != <npy_intp>shape[k]:
            return False
    return True

cdef inline bint of_type(object a, object dtype):
    return type(a) is ndarray and <object>PyArray_DESCR(a) is dtype

cdef inline bint looks_on(object a):
    return type(a) is ndarray and PyArray_BASE(a) is not NULL
