"""A sheet for print, word by word."""

from gradcheck.problem import load_text
from gradcheck.report.sheets import Sheet, sheet_markdown, sheets_page

SET = """
title: Week 3
problems:
- id: twice
  inputs: {x: 0.7, a: {value: 2.0, requires_grad: false}}
  program: a * sin(x)
  order: 2
- id: mixed
  title: Two of two
  prompt: By hand.
  points: 2
  inputs: {x: 0.5, y: 1.5}
  program: x**2 * y
- id: second
  inputs: {x: 0.5, y: 1.5}
  program: x**2 * y
  order: 2
- id: rows
  inputs: {A: [[1.0, 2.0]], x: {value: [0.5, 0.25], requires_grad: false}}
  program: A @ x
  jacobian: true
- id: total
  inputs: {v: [1.0, 2.0]}
  program: sum(v**3)
- id: after
  inputs: {w: 2.0}
  program: (w**2).backward()
  ask: {w: w.grad}
- id: loop
  inputs: {x: 2.0}
  program: |
    y = x
    for k in range(3):
        y = y * x
    y
"""
SHEET = r"""# Week 3

**Ada L\. \(ada\)**

## 1. twice (1 point)

$$f(x) = a\,\sin\left(x\right)$$

`x = 0.7 (if you answer with a number)`; `a = 2`

- `twice`: the second derivative by x

## 2. Two of two (2 points)

By hand.

$$f(x, y) = x^{2}\,y$$

`x = 0.5 (if you answer with a number)`; `y = 1.5 (if you answer with a number)`

- `mixed.x`: the derivative by x
- `mixed.y`: the derivative by y

## 3. second (1 point)

$$f(x, y) = x^{2}\,y$$

`x = 0.5 (if you answer with a number)`; `y = 1.5 (if you answer with a number)`

- `second.x.x`: the second derivative by x
- `second.x.y`: the second derivative by x and y
- `second.y.y`: the second derivative by y

## 4. rows (1 point)

$$f(A) = A \cdot x$$

`A = [[1, 2]] (if you answer with a number)`; `x = [0.5, 0.25]`

- `rows`: the Jacobian by A

## 5. total (1 point)

$$f(v) = \operatorname{sum}\left(v^{3}\right)$$

`v = [1, 2] (if you answer with a number)`

- `total`: the gradient by v

## 6. after (1 point)

```python
(w**2).backward()
```

`w = 2`

- `after`: w.grad at the end

## 7. loop (1 point)

```python
y = x
for k in range(3):
    y = y * x
y
```

`x = 2`

- `loop`: the derivative by x
"""


def test_a_sheet_says_what_is_asked_of_whom() -> None:
    """A formula where there is one, else the program; each part by the name it is handed in."""
    found = load_text(SET)
    sheet = Sheet("ada", "Ada L.", found.problems)
    assert sheet_markdown(found.title, sheet) == SHEET
    page = sheets_page(found.title, [sheet])
    assert page.count("the second derivative by x and y") == 1
    assert page.count("<math") == 10  # f(x) and what it is, five times
