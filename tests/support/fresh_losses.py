"""Twenty losses more, with the gradient of a textbook beside each, written before any was tried."""

from tests.support.further_losses import Book
from tests.support.losses import Loss

FRESH: dict[str, tuple[Loss, Book]] = {
    "weighted least squares": (
        Loss(
            "r = X @ w - y\nsum(c*r**2)/2",
            {"X": "n d", "w": "d", "y": "n", "c": "+n"},
            "w",
        ),
        {"w": "X.T @ (c*r)"},
    ),
    "generalised ridge": (
        Loss(
            "mean((X @ w - y)**2) + 0.5*w @ Q @ w",
            {"X": "n d", "w": "d", "y": "n", "Q": "d d"},
            "w",
        ),
        {"w": "2*X.T @ (X @ w - y)/y.shape[0] + 0.5*(Q + Q.T) @ w"},
    ),
    "log det of gram": (
        Loss(
            "log(det(A @ A.T + eye(A.shape[0])))",
            {"A": "k h"},
            "A",
        ),
        {"A": "2*inv(A @ A.T + eye(A.shape[0])) @ A"},
    ),
    "logdet": (
        Loss(
            "logdet(S) - trace(S @ B)",
            {"S": "!k", "B": "k k"},
            "S B",
        ),
        {"S": "inv(S).T - B.T", "B": "-S.T"},
    ),
    "negative binomial": (
        Loss(
            "e = exp(X @ w)\nsum((y + 2)*log(2 + e) - y*log(e))",
            {"X": "n d", "w": "d", "y": "+n"},
            "w",
        ),
        {"w": "X.T @ ((y + 2)*e/(2 + e) - y)"},
    ),
    "probit-like": (
        Loss(
            "p = (1 + tanh(X @ w))/2\n-sum(y*log(p) + (1 - y)*log(1 - p))",
            {"X": "n d", "w": "d", "y": "+n"},
            "w",
        ),
        {"w": "2*X.T @ (p - y)"},
    ),
    "softmax regression, means": (
        Loss(
            "Z = X @ W + b\nP = softmax(Z, axis=1)\n-mean(sum(Y*log(P), axis=1)) + 0.1*sum(W**2)",
            {"X": "n d", "W": "d k", "b": "k", "Y": "+n k"},
            "W",
        ),
        {"W": "X.T @ (P*sum(Y, axis=1, keepdims=True) - Y)/X.shape[0] + 0.2*W"},
    ),
    "two-layer softplus": (
        Loss(
            "H = softplus(X @ W1)\nr = H @ w2 - y\nsum(r**2)/2",
            {"X": "n d", "W1": "d h", "w2": "h", "y": "n"},
            "W1 w2",
        ),
        {"W1": "X.T @ (outer(r, w2)*sigmoid(X @ W1))", "w2": "H.T @ r"},
    ),
    "sum to one penalty": (
        Loss(
            "(sum(w) - 1)**2 + sum(w*log(w))",
            {"w": "+n"},
            "w",
        ),
        {"w": "2*(sum(w) - 1) + log(w) + 1"},
    ),
    "stress": (
        Loss(
            "E = D - X @ X.T\nsum(E**2)/2",
            {"D": "n n", "X": "n d"},
            "X",
        ),
        {"X": "-(E + E.T) @ X"},
    ),
    "subspace": (
        Loss(
            "R = Y - U @ (U.T @ Y)\nsum(R**2)",
            {"Y": "d n", "U": "d k"},
            "U",
        ),
        {"U": "-2*(R @ Y.T + Y @ R.T) @ U"},
    ),
    "kernel ridge": (
        Loss(
            "r = K @ a - y\nr @ r + a @ K @ a",
            {"K": "n n", "a": "n", "y": "n"},
            "a",
        ),
        {"a": "2*K.T @ r + (K + K.T) @ a"},
    ),
    "exponential loss": (
        Loss(
            "mean(exp(-y*(X @ w)))",
            {"X": "n d", "w": "d", "y": "n"},
            "w",
        ),
        {"w": "-X.T @ (y*exp(-y*(X @ w)))/y.shape[0]"},
    ),
    "mean absolute": (
        Loss(
            "mean(abs(X @ w - y))",
            {"X": "n d", "w": "d", "y": "n"},
            "w",
        ),
        {"w": "X.T @ sign(X @ w - y)/y.shape[0]"},
    ),
    "bilinear tanh": (
        Loss(
            "s = tanh(x @ A @ y)\n(s - t)**2",
            {"x": "n", "A": "n k", "y": "k", "t": ""},
            "A x",
        ),
        {"A": "2*(s - t)*(1 - s**2)*outer(x, y)", "x": "2*(s - t)*(1 - s**2)*A @ y"},
    ),
    "scale": (
        Loss(
            "sum((a*x - y)**2)",
            {"a": "", "x": "n", "y": "n"},
            "a",
        ),
        {"a": "2*sum((a*x - y)*x)"},
    ),
    "log partition": (
        Loss(
            "log(sum(exp(X @ w)))",
            {"X": "n d", "w": "d"},
            "w",
        ),
        {"w": "X.T @ softmax(X @ w)"},
    ),
    "centred rows": (
        Loss(
            "C = X - mean(X, axis=0)\nsum(C**2)/2",
            {"X": "n d"},
            "X",
        ),
        {"X": "C"},
    ),
    "inverse distance": (
        Loss(
            "r = x - m\n1/sqrt(r @ r)",
            {"x": "n", "m": "n"},
            "x",
        ),
        {"x": "-r/(r @ r)**1.5"},
    ),
    "dropout mask": (
        Loss(
            "H = relu(X @ W)*M\nsum((H @ v - y)**2)/2",
            {"X": "n d", "W": "d h", "M": "+n h", "v": "h", "y": "n"},
            "W",
        ),
        {"W": "X.T @ (outer(H @ v - y, v)*M*(X @ W > 0))"},
    ),
}
