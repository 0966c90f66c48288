# C types for landing.py, where it is compiled (see setup.py).
from gradcheck.engine.state cimport State, wrapped
from gradcheck.engine.tape cimport Leaf
