"""Program: one function of ours, called in a process that can be abandoned.

stdin: (search path, function, arguments), pickled, the function by its name; stdout: (worked, result or exception).
Both ends of the pipe are ours.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the app
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints is no answer
    sys.path[:] = pickle.load(sys.stdin.buffer)
    function, arguments = pickle.load(sys.stdin.buffer)
    try:
        answer = True, function(*arguments)
    except Exception as error:
        answer = False, error
    pickle.dump(answer, answers)
    answers.close()


if __name__ == "__main__":
    main()
