from gradcheck.engine.state cimport State, wrapped
from gradcheck.engine.tape cimport Leaf
