"""What a request says of who sent it."""

from typing import TYPE_CHECKING

from starlette.requests import Request

if TYPE_CHECKING:
    from gradcheck.web.practice import Practice


def practice_of(request: Request) -> "Practice":
    """The server's state."""
    found: Practice = request.app.state.practice
    return found


def student_of(request: Request) -> str:
    """The name in the cookie, or nothing."""
    return practice_of(request).names.of(request)


def sender_of(request: Request) -> str:
    """Whose turn it is: the student's, or that of an address."""
    address = request.client.host if request.client else ""
    return f"name {name}" if (name := student_of(request)) else f"address {address}"
