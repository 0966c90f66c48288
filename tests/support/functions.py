"""Functions with a forward and a backward of their own, made in a line."""


def made(m, forward, backward=None, **named):
    """A Function class named Fn of the given static methods."""
    members = {"forward": forward, "backward": backward, **named}
    statics = {name: staticmethod(f) for name, f in members.items() if f is not None}
    return type("Fn", (m.Function,), statics)
