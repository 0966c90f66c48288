"""Losses of machine learning as programs, with the sizes of their inputs as letters.

Constants are in capitals that no gradient is asked for: `wrt` says for what it is asked.
"""

from typing import NamedTuple

import numpy as np


class Loss(NamedTuple):
    """A program, its inputs' shapes (`"n d"`), and the inputs to be differentiated by."""

    program: str
    inputs: dict[str, str]
    wrt: str


SIZES = ({"n": 5, "d": 3, "k": 2, "h": 4, "m": 6}, {"n": 4, "d": 2, "k": 3, "h": 5, "m": 7})

NET2 = {"X": "n d", "W1": "d h", "b1": "h", "W2": "h k", "b2": "k", "Y": "n k"}
NET3 = NET2 | {"W2": "h h", "b2": "h", "W3": "h k", "b3": "k"}
HEAD = {"X": "n d", "Wq": "d k", "Wk": "d k", "Wv": "d h", "G": "n h"}

LOSSES = {
    "linear": Loss(
        "P = X @ W + b\nmean((P - Y)**2)", {"X": "n d", "W": "d k", "b": "k", "Y": "n k"}, "X W b Y"
    ),
    "least squares": Loss("r = X @ w - y\nsum(r**2)/2", {"X": "n d", "w": "d", "y": "n"}, "w X y"),
    "ridge": Loss("mean((X @ w - y)**2) + 0.1*sum(w**2)", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "lasso": Loss("mean((X @ w - y)**2) + 0.1*sum(abs(w))", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "elastic net": Loss(
        "sum((X @ w - y)**2) + sum(abs(w)) + sum(w**2)", {"X": "n d", "w": "d", "y": "n"}, "w"
    ),
    "logistic": Loss(
        "p = sigmoid(X @ w)\n-mean(y*log(p) + (1 - y)*log(1 - p))",
        {"X": "n d", "w": "d", "y": "+n"},
        "w",
    ),
    "logistic, signs": Loss(
        "mean(log(1 + exp(-y*(X @ w))))", {"X": "n d", "w": "d", "y": "n"}, "w"
    ),
    "softplus": Loss("mean(softplus(-y*(X @ w)))", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "softmax cross-entropy": Loss(
        "P = softmax(X @ W + b, axis=1)\n-sum(Y*log(P))/X.shape[0]",
        {"X": "n d", "W": "d k", "b": "k", "Y": "+n k"},
        "W b",
    ),
    "log-softmax": Loss(
        "-mean(sum(Y*log_softmax(X @ W, axis=1), axis=1))",
        {"X": "n d", "W": "d k", "Y": "n k"},
        "W",
    ),
    "logsumexp": Loss(
        "Z = X @ W\nmean(logsumexp(Z, axis=1) - sum(Z*Y, axis=1))",
        {"X": "n d", "W": "d k", "Y": "n k"},
        "W",
    ),
    "multi-label": Loss(
        "P = sigmoid(X @ W)\n-mean(Y*log(P) + (1 - Y)*log(1 - P))",
        {"X": "n d", "W": "d k", "Y": "+n k"},
        "W",
    ),
    "hinge": Loss("mean(maximum(0, 1 - y*(X @ w)))", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "squared hinge": Loss(
        "mean(maximum(0, 1 - y*(X @ w))**2)", {"X": "n d", "w": "d", "y": "n"}, "w"
    ),
    "pseudo-huber": Loss(
        "r = X @ w - y\nsum(sqrt(1 + r**2) - 1)", {"X": "n d", "w": "d", "y": "n"}, "w"
    ),
    "log-cosh": Loss("mean(log(cosh(X @ w - y)))", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "poisson": Loss("m = exp(X @ w)\nmean(m - y*(X @ w))", {"X": "n d", "w": "d", "y": "n"}, "w"),
    "gamma regression": Loss(
        "m = X @ w\nmean(y*exp(-m) + m)", {"X": "n d", "w": "d", "y": "+n"}, "w"
    ),
    "quantile": Loss(
        "r = y - X @ w\nmean(maximum(0.3*r, -0.7*r))", {"X": "n d", "w": "d", "y": "n"}, "w"
    ),
    "tanh net": Loss(
        "H = tanh(X @ W1 + b1)\nP = H @ W2 + b2\nmean((P - Y)**2)", NET2, "W1 b1 W2 b2"
    ),
    "sigmoid net": Loss(
        "H = sigmoid(X @ W1 + b1)\nP = H @ W2 + b2\nmean((P - Y)**2)", NET2, "W1 b1 W2 b2"
    ),
    "relu net": Loss(
        "Z = X @ W1 + b1\nH = relu(Z)\nP = H @ W2 + b2\nmean((P - Y)**2)", NET2, "W1 b1 W2 b2"
    ),
    "gelu net": Loss("H = gelu(X @ W1 + b1)\nP = H @ W2 + b2\nmean((P - Y)**2)", NET2, "W1 b2"),
    "leaky relu": Loss("sum(maximum(0.1*Z, Z)*G)", {"Z": "n k", "G": "n k"}, "Z"),
    "three layers": Loss(
        "H1 = tanh(X @ W1 + b1)\nH2 = tanh(H1 @ W2 + b2)\nP = H2 @ W3 + b3\nmean((P - Y)**2)",
        NET3,
        "W1 b1 W2 b2 W3 b3",
    ),
    "classifier": Loss(
        "H = tanh(X @ W1 + b1)\nP = softmax(H @ W2 + b2, axis=1)\n-sum(Y*log(P))/X.shape[0]",
        NET2 | {"Y": "+n k"},
        "W1 b1 W2 b2",
    ),
    "residual": Loss("H = X + tanh(X @ W)\nsum(G*H)", {"X": "n d", "W": "d d", "G": "n d"}, "X W"),
    "attention": Loss(
        "Q = X @ Wq\n"
        "K = X @ Wk\n"
        "V = X @ Wv\n"
        "A = softmax(Q @ K.T / sqrt(2), axis=1)\n"
        "sum(G*(A @ V))",
        HEAD,
        "Wq Wk Wv X",
    ),
    "masked attention": Loss(
        "A = softmax(Q @ K.T + M, axis=1)\nsum(G*(A @ V))",
        {"Q": "n k", "K": "m k", "V": "m h", "M": "n m", "G": "n h"},
        "Q K V",
    ),
    "layer norm": Loss(
        "C = X - mean(X, axis=1, keepdims=True)\n"
        "s = sqrt(mean(C**2, axis=1, keepdims=True) + 0.1)\n"
        "sum(G*(gamma*C/s + beta))",
        {"X": "n d", "gamma": "d", "beta": "d", "G": "n d"},
        "X gamma beta",
    ),
    "batch norm": Loss(
        "C = X - mean(X, axis=0)\ns = sqrt(mean(C**2, axis=0) + 0.1)\nsum(G*(gamma*C/s + beta))",
        {"X": "n d", "gamma": "d", "beta": "d", "G": "n d"},
        "X gamma beta",
    ),
    "rms norm": Loss(
        "r = sqrt(mean(X**2, axis=1, keepdims=True) + 0.1)\nsum(G*X/r)",
        {"X": "n d", "G": "n d"},
        "X",
    ),
    "weight norm": Loss(
        "sum((X @ (g*v/norm(v)) - y)**2)", {"X": "n d", "v": "d", "g": "", "y": "n"}, "v g"
    ),
    "variance": Loss("var(x)", {"x": "n"}, "x"),
    "log det": Loss("log(det(A @ A.T))", {"A": "k h"}, "A"),
    "trace of inverse": Loss("trace(inv(A) @ B)", {"A": "!k", "B": "k k"}, "A B"),
    "trace": Loss("trace(A)**2", {"A": "k k"}, "A"),
    "det": Loss("det(A)", {"A": "!k"}, "A"),
    "mahalanobis": Loss("r = x - m\nr @ solve(S, r)", {"x": "k", "m": "k", "S": "!k"}, "x m S"),
    "gaussian": Loss(
        "r = x - m\n0.5*(r @ inv(S) @ r) + 0.5*log(det(S))", {"x": "k", "m": "k", "S": "!k"}, "m S"
    ),
    "rayleigh quotient": Loss("(x @ A @ x)/(x @ x)", {"A": "k k", "x": "k"}, "x A"),
    "quadratic form": Loss("x @ A @ x", {"A": "k k", "x": "k"}, "x A"),
    "bilinear form": Loss("x @ A @ y", {"A": "n k", "x": "n", "y": "k"}, "x A y"),
    "matrix factorisation": Loss(
        "sum((M - U @ V.T)**2)", {"M": "n m", "U": "n k", "V": "m k"}, "U V"
    ),
    "masked factorisation": Loss(
        "sum(S*(M - U @ V.T)**2)", {"M": "n m", "S": "n m", "U": "n k", "V": "m k"}, "U V"
    ),
    "frobenius": Loss("norm(A - B)", {"A": "n k", "B": "n k"}, "A"),
    "norm": Loss("norm(x)", {"x": "n"}, "x"),
    "unit vector": Loss("sum(x/norm(x)*v)", {"x": "n", "v": "n"}, "x"),
    "cosine similarity": Loss("(x @ y)/(norm(x)*norm(y))", {"x": "n", "y": "n"}, "x y"),
    "info nce": Loss(
        "S = A @ B.T\nmean(logsumexp(S, axis=1)) - trace(S)/A.shape[0]",
        {"A": "n k", "B": "n k"},
        "A B",
    ),
    "triplet": Loss(
        "mean(relu(sum((A - P)**2, axis=1) - sum((A - N)**2, axis=1) + 1))",
        {"A": "n k", "P": "n k", "N": "n k"},
        "A P N",
    ),
    "gaussian process": Loss(
        "K = exp(-A) + E\n0.5*(y @ inv(K) @ y) + 0.5*log(det(K))",
        {"A": "k k", "E": "!k", "y": "k"},
        "A",
    ),
    "pca": Loss("sum((X - X @ W @ W.T)**2)", {"X": "n d", "W": "d k"}, "W"),
    "autoencoder": Loss(
        "sum((X - tanh(X @ W) @ V)**2)", {"X": "n d", "W": "d k", "V": "k d"}, "W V"
    ),
    "rnn": Loss(
        "h1 = tanh(x1 @ U + h0 @ W)\n"
        "h2 = tanh(x2 @ U + h1 @ W)\n"
        "h3 = tanh(x3 @ U + h2 @ W)\n"
        "sum((h3 - y)**2)",
        {"x1": "d", "x2": "d", "x3": "d", "h0": "h", "U": "d h", "W": "h h", "y": "h"},
        "W U h0",
    ),
    "gate": Loss(
        "g = sigmoid(x @ A)\nc = tanh(x @ B)\nsum(v*g*c)",
        {"x": "d", "A": "d h", "B": "d h", "v": "h"},
        "A B x",
    ),
    "kl of gaussians": Loss("0.5*sum(exp(s) + m**2 - 1 - s)", {"m": "n k", "s": "n k"}, "m s"),
    "kl of distributions": Loss(
        "P = softmax(Z, axis=1)\nsum(P*(log(P) - log(Q)))", {"Z": "n k", "Q": "+n k"}, "Z"
    ),
    "focal": Loss("p = sigmoid(X @ w)\n-mean((1 - p)**2*log(p))", {"X": "n d", "w": "d"}, "w"),
    "entropy": Loss("p = softmax(z)\n-sum(p*log(p))", {"z": "n"}, "z"),
    "temperature": Loss("p = softmax(z/t)\n-sum(y*log(p))", {"z": "n", "t": "+", "y": "+n"}, "z t"),
    "k-means": Loss(
        "sum(R*sum((X.reshape(X.shape[0], 1, X.shape[1]) - C)**2, axis=2))",
        {"X": "n d", "C": "k d", "R": "n k"},
        "C",
    ),
    "einsum": Loss("sum(einsum('ij,jk->ik', A, B)*C)", {"A": "n d", "B": "d k", "C": "n k"}, "A B"),
    "graph laplacian": Loss(
        "sum(W*(f.reshape(f.shape[0], 1) - f)**2)", {"W": "n n", "f": "n"}, "f"
    ),
    "swish net": Loss("Z = X @ W\nsum(G*Z*sigmoid(Z))", {"X": "n d", "W": "d k", "G": "n k"}, "W"),
    "centred moments": Loss("sum((x - mean(x))**3)", {"x": "n"}, "x"),
    "correlation": Loss(
        "a = x - mean(x)\nb = y - mean(y)\n(a @ b)/(norm(a)*norm(b))", {"x": "n", "y": "n"}, "x"
    ),
    "gravity": Loss("sum(1/sqrt(x**2 + y**2))", {"x": "n", "y": "n"}, "x y"),
}
"""Losses; a `+` before sizes asks for numbers in (0, 1), a `!` for a matrix near the unit one."""


def drawn(loss: Loss, sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Numbers for the inputs."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, letters in loss.inputs.items():
        shape = tuple(sizes[letter] for letter in letters.strip("+!").split())
        if letters.startswith("!"):
            found[name] = np.eye(*shape * 2) * 2 + 0.3 * rng.uniform(-1, 1, shape * 2)
        else:
            found[name] = rng.uniform(*((0.1, 0.9) if "+" in letters else (-1, 1)), shape)
    return found
