"""Messages between processes: a length, then JSON; nothing that is received is ever executed."""

import json
import socket
import struct
from typing import Any

HEAD = struct.Struct("!I")


def framed(message: Any) -> bytes:
    """A message as it travels."""
    data = json.dumps(message).encode()
    return HEAD.pack(len(data)) + data


def length(head: bytes) -> int:
    """How many bytes follow a head."""
    size: int = HEAD.unpack(head)[0]
    return size


def receive(channel: socket.socket) -> Any:
    """The next message; raises EOFError where the other side is gone."""
    return json.loads(_exactly(channel, length(_exactly(channel, HEAD.size))))


def _exactly(channel: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        piece = channel.recv(size - len(found))
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)
