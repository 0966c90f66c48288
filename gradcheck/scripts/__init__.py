"""A user's own script, run as it is with PyTorch's names: every pass back in it is judged."""

from gradcheck.scripts.run import Ended, Ran, ScriptJudgement, judge, run_file

__all__ = ["Ended", "Ran", "ScriptJudgement", "judge", "run_file"]
