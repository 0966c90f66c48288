"""Fifty further losses of lectures, written down before any of them was tried.

Beside each the gradient that a textbook would print, in the program's own names. Two were mended
afterwards: the matrices of "lda" were singular, and a sign of "vicreg" was no NumPy.
"""

from tests.support.losses import Loss

Book = dict[str, str]

FURTHER: dict[str, tuple[Loss, Book]] = {
    "dice": (
        Loss("t = sum(p*y)\ns = sum(p) + sum(y)\n1 - 2*t/s", {"p": "+n", "y": "+n"}, "p"),
        {"p": "2*t/s**2 - 2*y/s"},
    ),
    "tversky": (
        Loss(
            "t = sum(p*y)\na = sum(p*(1 - y))\nb = sum((1 - p)*y)\ns = t + 0.3*a + 0.7*b\n1 - t/s",
            {"p": "+n", "y": "+n"},
            "p",
        ),
        {"p": "t*(y + 0.3*(1 - y) - 0.7*y)/s**2 - y/s"},
    ),
    "arcface": (
        Loss(
            "U = X/norm(X, axis=1, keepdims=True)\nV = W/norm(W, axis=0)\nC = 0.9*U @ V\n"
            "Z = 8*(Y*cos(arccos(C) + 0.5) + (1 - Y)*C)\n"
            "-mean(sum(Y*log_softmax(Z, axis=1), axis=1))",
            {"X": "n d", "W": "d k", "Y": "+n k"},
            "X W",
        ),
        {},
    ),
    "supervised contrastive": (
        Loss(
            "U = X/norm(X, axis=1, keepdims=True)\nE = exp(U @ U.T/0.5)*(1 - eye(X.shape[0]))\n"
            "-mean(log(sum(E*M, axis=1)/sum(E, axis=1)))",
            {"X": "n d", "M": "+n n"},
            "X",
        ),
        {},
    ),
    "nt-xent": (
        Loss(
            "S = U @ V.T/0.5\nmean(logsumexp(S, axis=1) + logsumexp(S, axis=0) - 2*diagonal(S))",
            {"U": "n d", "V": "n d"},
            "U V",
        ),
        {"U": "2*(softmax(S, axis=1) + softmax(S, axis=0) - 2*eye(U.shape[0])) @ V/U.shape[0]"},
    ),
    "vae": (
        Loss(
            "z = mu + exp(s/2)*eps\nr = z @ W - x\nsum(r**2)/2 - sum(1 + s - mu**2 - exp(s))/2",
            {"mu": "n k", "s": "n k", "eps": "n k", "W": "k d", "x": "n d"},
            "mu s W",
        ),
        {
            "mu": "r @ W.T + mu",
            "s": "(r @ W.T*exp(s/2)*eps + exp(s) - 1)/2",
            "W": "z.T @ r",
        },
    ),
    "gru": (
        Loss(
            "z = sigmoid(x @ Wz + h @ Uz)\nr = sigmoid(x @ Wr + h @ Ur)\n"
            "c = tanh(x @ Wc + (r*h) @ Uc)\no = (1 - z)*h + z*c\ne = o - t\nsum(e**2)/2",
            {
                "x": "n d",
                "h": "n k",
                "t": "n k",
                "Wz": "d k",
                "Uz": "k k",
                "Wr": "d k",
                "Ur": "k k",
                "Wc": "d k",
                "Uc": "k k",
            },
            "Wz Wc Uc Ur",
        ),
        {
            "Wz": "x.T @ (e*(c - h)*z*(1 - z))",
            "Wc": "x.T @ (e*z*(1 - c**2))",
            "Uc": "(r*h).T @ (e*z*(1 - c**2))",
            "Ur": "h.T @ ((e*z*(1 - c**2)) @ Uc.T*h*r*(1 - r))",
        },
    ),
    "gated pooling": (
        Loss(
            "a = softmax((tanh(H @ V)*sigmoid(H @ U)) @ w, axis=0)\nz = a @ H\nr = z @ c - 1\nr**2",
            {"H": "n d", "V": "d k", "U": "d k", "w": "k", "c": "d"},
            "w c V",
        ),
        {"c": "2*r*z"},
    ),
    "multi-head attention": (
        Loss(
            "Q = einsum('nd,mdk->mnk', X, A)\nK = einsum('nd,mdk->mnk', X, B)\n"
            "S = einsum('mnk,mlk->mnl', Q, K)\nP = softmax(S, axis=2)\n"
            "O = einsum('mnl,ld,mdk->nk', P, X, V)\nsum(O*G)",
            {"X": "n d", "A": "m d k", "B": "m d k", "V": "m d k", "G": "n k"},
            "V A",
        ),
        {"V": "einsum('mnl,ld,nk->mdk', P, X, G)"},
    ),
    "spectral penalty": (
        Loss(
            "p = W.T @ u\nv = p/norm(p)\nq = W @ v\ns = norm(q)\n(s - 1)**2",
            {"W": "n d", "u": "n"},
            "W",
        ),
        {},
    ),
    "expectile": (
        Loss(
            "e = X @ w - y\nmean(where(e > 0, 0.8, 0.2)*e**2)",
            {"X": "n d", "w": "d", "y": "n"},
            "w",
        ),
        {"w": "2*X.T @ (where(e > 0, 0.8, 0.2)*e)/e.shape[0]"},
    ),
    "cox": (
        Loss(
            "f = X @ w\ns = R @ exp(f)\nsum(e*(log(s) - f))",
            {"X": "n d", "w": "d", "R": "+n n", "e": "+n"},
            "w",
        ),
        {"w": "X.T @ (R.T @ (e/s)*exp(f) - e)"},
    ),
    "crf": (
        Loss(
            "a = E[0]\nb = logsumexp(a[:, None] + T, axis=0) + E[1]\n"
            "c = logsumexp(b[:, None] + T, axis=0) + E[2]\nlogsumexp(c) - sum(E*Y) - sum(T*C)",
            {"E": "3 k", "T": "k k", "Y": "3 k", "C": "k k"},
            "T E",
        ),
        {},
    ),
    "mixture": (
        Loss(
            "Z = log(p) - (x[:, None] - mu)**2/2\n-sum(logsumexp(Z, axis=1))",
            {"x": "n", "mu": "k", "p": "+k"},
            "mu p",
        ),
        {
            "mu": "sum(softmax(Z, axis=1)*(mu - x[:, None]), axis=0)",
            "p": "-sum(softmax(Z, axis=1), axis=0)/p",
        },
    ),
    "sinkhorn": (
        Loss(
            "K = exp(-C)\nu = a/sum(K, axis=1)\nv = b/(K.T @ u)\nw = a/(K @ v)\n"
            "sum(outer(w, v)*K*C)",
            {"C": "n k", "a": "+n", "b": "+k"},
            "C",
        ),
        {},
    ),
    "kalman": (
        Loss(
            "S = H @ P @ H.T + R\nK = P @ H.T @ inv(S)\nr = m + K @ (y - H @ m) - t\nsum(r**2)/2",
            {"H": "k d", "P": "d d", "R": "k k", "m": "d", "y": "k", "t": "d"},
            "m y R",
        ),
        {"m": "r - H.T @ K.T @ r", "y": "K.T @ r", "R": "-outer(K.T @ r, inv(S) @ (y - H @ m))"},
    ),
    "ewc": (
        Loss(
            "r = X @ w - y\nmean(r**2) + 0.5*sum(F*(w - v)**2)",
            {"X": "n d", "w": "d", "y": "n", "F": "+d", "v": "d"},
            "w",
        ),
        {"w": "2*X.T @ r/r.shape[0] + F*(w - v)"},
    ),
    "total variation": (
        Loss("sum(abs(diff(I, axis=0))) + sum(abs(diff(I, axis=1)))", {"I": "m n"}, "I"),
        {},
    ),
    "ssim": (
        Loss(
            "a = x - mean(x)\nb = y - mean(y)\nmean(a*b)/(mean(a**2) + mean(b**2) + 0.1)",
            {"x": "n", "y": "n"},
            "x",
        ),
        {},
    ),
    "multi-class hinge": (
        Loss(
            "Z = X @ W\nM = maximum(0, 1 + Z - sum(Y*Z, axis=1, keepdims=True))\n"
            "mean(sum(M, axis=1))",
            {"X": "n d", "W": "d k", "Y": "n k"},
            "W",
        ),
        {"W": "X.T @ ((M > 0) - Y*sum(M > 0, axis=1, keepdims=True))/X.shape[0]"},
    ),
    "ranknet": (
        Loss(
            "s = X @ w\nD = s[:, None] - s\nsum(T*softplus(-D))",
            {"X": "n d", "w": "d", "T": "+n n"},
            "w",
        ),
        {"w": "X.T @ (sum(T*sigmoid(-D), axis=0) - sum(T*sigmoid(-D), axis=1))"},
    ),
    "listnet": (
        Loss(
            "q = softmax(y, axis=0)\nf = X @ w\n-sum(q*log_softmax(f, axis=0))",
            {"X": "n d", "w": "d", "y": "n"},
            "w",
        ),
        {"w": "X.T @ (softmax(f, axis=0) - q)"},
    ),
    "fisher discriminant": (
        Loss("a = w @ m\nb = w @ S @ w\na**2/b", {"w": "d", "m": "d", "S": "d d"}, "w"),
        {"w": "2*a*m/b - a**2*(S @ w + S.T @ w)/b**2"},
    ),
    "cca": (
        Loss(
            "p = (X @ a)\nq = (Y @ b)\n(p @ q)/(norm(p)*norm(q))",
            {"X": "n d", "Y": "n k", "a": "d", "b": "k"},
            "a b",
        ),
        {"a": "X.T @ (q/(norm(p)*norm(q)) - p @ q*p/(norm(p)**3*norm(q)))"},
    ),
    "lda": (
        Loss(
            "S = inv(W.T @ A @ W)\nT = W.T @ B @ W\ntrace(S @ T)",
            {"W": "h d", "A": "h h", "B": "h h"},
            "A B W",
        ),
        {"A": "-W @ S.T @ T.T @ S.T @ W.T", "B": "W @ S.T @ W.T"},
    ),
    "procrustes": (
        Loss("E = X @ R - Y\ntrace(E.T @ E)", {"X": "n d", "R": "d k", "Y": "n k"}, "R X"),
        {"R": "2*X.T @ E", "X": "2*E @ R.T"},
    ),
    "completion with biases": (
        Loss(
            "E = M*(U @ V.T + a[:, None] + b - X)\nsum(E**2)/2 + 0.1*(sum(U**2) + sum(V**2))",
            {"U": "n d", "V": "k d", "a": "n", "b": "k", "X": "n k", "M": "+n k"},
            "U V a b",
        ),
        {
            "U": "(M*E) @ V + 0.2*U",
            "V": "(M*E).T @ U + 0.2*V",
            "a": "sum(M*E, axis=1)",
            "b": "sum(M*E, axis=0)",
        },
    ),
    "orthogonality": (
        Loss("G = W.T @ W - eye(W.shape[1])\nsum(G**2)", {"W": "d k"}, "W"),
        {"W": "4*W @ G"},
    ),
    "smoothness": (
        Loss("L = diag(sum(A, axis=1)) - A\ntrace(F.T @ L @ F)", {"A": "n n", "F": "n k"}, "F A"),
        {"F": "(L + L.T) @ F", "A": "sum(F**2, axis=1)[:, None] - F @ F.T"},
    ),
    "pagerank": (
        Loss(
            "G = A/sum(A, axis=0)\ny = 0.85*G @ x + 0.15/x.shape[0]\n"
            "z = 0.85*G @ y + 0.15/x.shape[0]\nsum((z - t)**2)",
            {"A": "+n n", "x": "+n", "t": "+n"},
            "A x",
        ),
        {"x": "1.445*G.T @ G.T @ (z - t)"},
    ),
    "distillation": (
        Loss(
            "Z = X @ W\nQ = softmax(T/2, axis=1)\n-4*sum(Q*log_softmax(Z/2, axis=1))/X.shape[0]",
            {"X": "n d", "W": "d k", "T": "n k"},
            "W",
        ),
        {"W": "2*X.T @ (softmax(Z/2, axis=1) - Q)/X.shape[0]"},
    ),
    "cosine embedding": (
        Loss(
            "a = norm(A, axis=1)\nb = norm(B, axis=1)\nc = sum(A*B, axis=1)/(a*b)\n"
            "mean(maximum(0, c + 0.2))",
            {"A": "n d", "B": "n d"},
            "A",
        ),
        {},
    ),
    "wasserstein": (
        Loss("r = sort(x) - sort(y)\nmean(r**2)", {"x": "n", "y": "n"}, "x y"),
        {"x": "2*r[argsort(argsort(x))]/x.shape[0]"},
    ),
    "label smoothing": (
        Loss(
            "Z = X @ W\nQ = 0.9*Y + 0.1/Y.shape[1]\n-mean(sum(Q*log_softmax(Z, axis=1), axis=1))",
            {"X": "n d", "W": "d k", "Y": "+n k"},
            "W",
        ),
        {"W": "X.T @ (sum(Q, axis=1, keepdims=True)*softmax(Z, axis=1) - Q)/X.shape[0]"},
    ),
    "negative sampling": (
        Loss(
            "-log(sigmoid(u @ v)) - sum(log(sigmoid(-N @ v)))",
            {"u": "d", "v": "d", "N": "n d"},
            "u v N",
        ),
        {
            "u": "(sigmoid(u @ v) - 1)*v",
            "v": "(sigmoid(u @ v) - 1)*u + N.T @ sigmoid(N @ v)",
            "N": "outer(sigmoid(N @ v), v)",
        },
    ),
    "masked softmax": (
        Loss(
            "E = M*exp(X @ W)\nP = E/sum(E, axis=1, keepdims=True)\n-sum(Y*log(P))",
            {"X": "n d", "W": "d k", "M": "+n k", "Y": "+n k"},
            "W",
        ),
        {"W": "X.T @ (sum(Y, axis=1, keepdims=True)*P - Y)"},
    ),
    "mmd": (
        Loss(
            "K = exp(-sum((X[:, None, :] - Y)**2, axis=2))\nmean(K)",
            {"X": "n d", "Y": "m d"},
            "X",
        ),
        {"X": "2*(K @ Y - sum(K, axis=1)[:, None]*X)/K.size"},
    ),
    "hopfield": (
        Loss("x @ x/2 - logsumexp(M @ x)", {"M": "n d", "x": "d"}, "x M"),
        {"x": "x - M.T @ softmax(M @ x, axis=0)", "M": "-outer(softmax(M @ x, axis=0), x)"},
    ),
    "barlow twins": (
        Loss(
            "C = A.T @ B/A.shape[0] - eye(A.shape[1])\nsum(C**2)", {"A": "n d", "B": "n d"}, "A B"
        ),
        {"A": "2*B @ C.T/A.shape[0]", "B": "2*A @ C/A.shape[0]"},
    ),
    "vicreg": (
        Loss("s = sqrt(var(Z, axis=0) + 0.01)\nmean(maximum(0, 1 - s))", {"Z": "n d"}, "Z"),
        {"Z": "(s < 1)*(mean(Z, axis=0) - Z)/s/Z.size"},
    ),
    "student t": (
        Loss("r = X @ w - y\nsum(log(1 + r**2/3))", {"X": "n d", "w": "d", "y": "n"}, "w"),
        {"w": "X.T @ (2*r/(3 + r**2))"},
    ),
    "ppo": (
        Loss(
            "r = exp(p - q)\n-mean(minimum(r*A, clip(r, 0.8, 1.2)*A))",
            {"p": "n", "q": "n", "A": "n"},
            "p",
        ),
        {},
    ),
    "group lasso": (
        Loss("sum(norm(W, axis=1))", {"W": "d k"}, "W"),
        {"W": "W/norm(W, axis=1, keepdims=True)"},
    ),
    "capacity": (
        Loss("S = eye(H.shape[0]) + H @ H.T\nslogdet(S)[1]", {"H": "n k"}, "H"),
        {"H": "2*inv(S) @ H"},
    ),
    "cholesky": (
        Loss(
            "K = A @ A.T + eye(A.shape[0])\nL = cholesky(K)\nz = solve(L, y)\n"
            "z @ z/2 + sum(log(diag(L)))",
            {"A": "d d", "y": "d"},
            "y A",
        ),
        {"y": "inv(K) @ y"},
    ),
    "kronecker": (
        Loss("E = kron(A, B) - C\nsum(E**2)", {"A": "2 3", "B": "3 2", "C": "6 6"}, "A B"),
        {},
    ),
    "survival": (
        Loss("S = cumprod(1 - 0.1*h)\n-sum(c*log(S))", {"h": "+n", "c": "+n"}, "h"),
        {"h": "0.1*cumsum(c[::-1])[::-1]/(1 - 0.1*h)"},
    ),
    "additive attention": (
        Loss(
            "T = tanh(H @ W + s @ U)\na = softmax(T @ v, axis=0)\nr = a @ H - t\nsum(r**2)",
            {"H": "n d", "W": "d k", "U": "h k", "s": "h", "v": "k", "t": "d"},
            "v s",
        ),
        {"v": "2*T.T @ (a*(H @ r - a @ H @ r))"},
    ),
    "product of traces": (
        Loss("trace(A)*trace(A @ B)", {"A": "d d", "B": "d d"}, "A"),
        {"A": "trace(A @ B)*eye(A.shape[0]) + trace(A)*B.T"},
    ),
    "burg": (
        Loss("C = A @ inv(B)\ntrace(C) - slogdet(C)[1]", {"A": "d d", "B": "d d"}, "A B"),
        {"A": "inv(B).T - inv(A).T"},
    ),
}
