"""What `import gradcheck` shows."""

import gradcheck


def test_dir_and_all_show_what_is_there() -> None:
    """Every public name can be had; ops are shown too, but a star import leaves `sum` alone."""
    shown = dir(gradcheck)
    assert set(gradcheck.__all__) < set(shown)
    assert "softmax" in shown
    assert "sum" not in gradcheck.__all__
    assert all(getattr(gradcheck, name) is not None for name in shown)
