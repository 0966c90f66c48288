"""A user's own script, run as it is with PyTorch's names: every pass back in it is judged."""

from gradcheck.scripts.run import Ended, ScriptJudgement, judge, run_file

__all__ = ["Ended", "ScriptJudgement", "judge", "run_file"]
