"""`gradcheck solve FILE.py`: the file runs in a process of its own, which judges and reports.

That process is this module: `python -m gradcheck.cli.script FILE [--json]`.
"""

import contextlib
import io
import subprocess
import sys
from pathlib import Path

from gradcheck.cli.group import FINE, FOUND, IN_DOUBT, MALFORMED, open_streams
from gradcheck.cli.terminal import open_screen
from gradcheck.errors import GradcheckError
from gradcheck.report.passes import render_script, write_script_line
from gradcheck.scripts import judge, run_file

JSON = "--json"


def solve_script(file: Path, as_json: bool) -> int:
    """Run a script beside this process; the exit code of the command."""
    module = "gradcheck.cli.script"
    words = [sys.executable, "-P", "-m", module, str(file), *([JSON] if as_json else [])]
    sys.stdout.flush()
    with subprocess.Popen(words) as child:
        with contextlib.suppress(KeyboardInterrupt):  # which the script has heard too
            child.wait()
        code = child.wait()
    if code < 0:
        what = f"{file}: its process ended with {code}"
        open_screen(stderr=True).print(what, markup=False, soft_wrap=True)
    return FOUND if code < 0 else code


def main(words: list[str]) -> int:
    """Run, judge, report; in the process of the script."""
    open_streams()
    file, as_json = Path(words[0]), JSON in words
    out = sys.stdout
    try:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed if as_json else out):
            source, recorder, error = run_file(file)
        with open_screen(stderr=True).status("judging") as status:
            found = judge(recorder, status.update)
    except (GradcheckError, OSError) as refusal:
        open_screen(stderr=True).print(str(refusal), markup=False, soft_wrap=True)
        return MALFORMED
    sys.stdout = out
    if as_json:
        print(write_script_line(file, found, printed.getvalue(), error))
    else:
        open_screen().print(render_script(file, source, found, error))
    if error is not None:
        open_screen(stderr=True).print(error.text, markup=False, soft_wrap=True)
    if found.verdict == "dissent":
        return IN_DOUBT
    return FOUND if error is not None else FINE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
