"""Program: call one function in a process that can be abandoned.

stdin: a pickle of the search path for modules (empty: unchanged), and a pickle (function, arguments). The function may
also be given by its name, ``module.name``. stdout: a pickle, (True, result) or (False, exception).
"""

import gc
import os
import pickle
import signal
import sys
from importlib import import_module


def main() -> None:
    # signals are meant for the app: they must not interrupt a function that writes
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    gc.disable()  # the garbage collector would search a history of thousands of runs many times
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of the function goes to stderr, because stdout is for the result
    search_path = pickle.load(sys.stdin.buffer)
    if search_path:
        sys.path[:] = search_path
    function, arguments = pickle.load(sys.stdin.buffer)
    if isinstance(function, str):
        module, _, name = function.rpartition(".")
        function = getattr(import_module(module), name)
    try:
        outcome = True, function(*arguments)
    except Exception as error:
        outcome = False, error
    pickle.dump(outcome, output)
    output.close()


if __name__ == "__main__":
    main()
