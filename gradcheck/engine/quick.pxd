# C types for quick.py, where it is compiled (see setup.py).
from gradcheck.engine cimport native
from gradcheck.engine.state cimport State, step_of, wrapped
from gradcheck.engine.tape cimport Node, noted, stand_in

cdef list UNUSUAL
cdef object NONE, Tensor, float64, ndarray

cdef _keep(Node node, object y, State out)
cdef bint _looks(object y, object u)
