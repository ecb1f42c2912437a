"""Random signals at random moments, and faults, during every scenario, ``check``, ``watch`` and a fleet: what is left?

``--kills N`` attacks with ``--seed S`` (printed); ``--only`` repeats one of them, ``--first 63`` starts at that one.
``--faults`` selects faults of ``tests.chaos.faults``, or none. ``--patience`` is the time between the attack and the
check, 5 s. Exit status 1 if ``fstui clean`` left anything. Needs root.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from fstui.runs.scenarios import load_shipped
from tests.chaos import faults, place
from tests.chaos.attack import Attacked, Kill, carry_out, kills
from tests.chaos.place import Left, Place


def main(argv: list[str]) -> int:
    """Print a line for each attack that left something, then the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench chaos")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--faults", nargs="*", choices=list(faults.FAULTS), default=list(faults.FAULTS))
    parser.add_argument("--scenarios", nargs="+", default=[known.name for known in load_shipped()])
    parser.add_argument("--patience", type=float, default=5.0)
    options = parser.parse_args(argv)
    print(f"seed {options.seed}, {options.kills} kills, faults: {', '.join(options.faults) or 'none'}", flush=True)
    chosen = list(kills(options.seed, options.kills, tuple(options.scenarios)))[options.first :]
    if options.only is not None:
        chosen = [kill for kill in chosen if kill.number == options.only]
    killed: list[tuple[Kill, Attacked]] = []
    failed: list[tuple[str, Attacked | None]] = []
    with place.made() as box, suppress(KeyboardInterrupt):  # the table covers the attacks that were made
        for name in options.faults:
            failed.append((name, _fault(box, name, options.patience)))
        for kill in chosen:
            killed.append((kill, _told(str(kill), carry_out(box, kill, options.patience))))
    _table(killed, options.patience)
    return 1 if any(one.after_clean or one.cleaned for _, one in (*killed, *failed) if one) else 0


def _fault(box: Place, name: str, patience_s: float) -> Attacked | None:
    try:
        attacked = faults.FAULTS[name](box, patience_s)
    except faults.NotHere as reason:
        print(f"{name:<20} not tried: {reason}", flush=True)
        return None
    print(f"{name:<20} exit {attacked.code}  {attacked.said[:150]}", flush=True)
    return _told(name, attacked)


def _told(what: str, attacked: Attacked) -> Attacked:
    for when, left in (("left", attacked.left), ("left after clean", attacked.after_clean)):
        if left:
            print(f"{what}\n      {when}: {_words(left)}", flush=True)
    if attacked.cleaned:
        print(f"{what}\n      clean: {attacked.cleaned}", flush=True)
    return attacked


def _words(left: Left) -> str:
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in left._asdict().items() if names)


def _table(killed: Iterable[tuple[Kill, Attacked]], patience_s: float) -> None:
    """Print how many attacks left anything, by victim and kind."""
    tried: Counter[str] = Counter()
    rows: dict[str, Counter[str]] = {}
    for kill, attacked in killed:
        for row in (kill.victim, "together"):
            tried[row] += 1
            for when, left in (("5s", attacked.left), ("clean", attacked.after_clean)):
                found = {f"{when} {kind}": int(bool(names)) for kind, names in left._asdict().items()}
                rows.setdefault(row, Counter()).update(found)
    print(f"\nattacks that left something: after {patience_s:g} s / after fstui clean")
    print(f"{'':<14} {'attacks':>8} " + " ".join(f"{kind:>10}" for kind in Left._fields))
    for row, counts in rows.items():
        cells = [f"{counts[f'5s {kind}']} / {counts[f'clean {kind}']}" for kind in Left._fields]
        print(f"{row:<14} {tried[row]:>8} " + " ".join(f"{cell:>10}" for cell in cells))
