#!/usr/bin/env python3
"""A program of the tutorial prints what its page shows: the same words, and numbers that agree.

tutorial_output.py PROGRAM EXPECTED

Numbers with digits behind the point agree to two units in the last place that the page shows. Errors and residuals,
which are printed with an exponent, may be 10 times as large. Counts of steps may differ by a third, since sums round
differently on other processors.
"""

import re
import subprocess
import sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


def agrees(shown, printed):
    a, b = float(shown), float(printed)
    if "e" in shown:
        return "e" in printed and b <= 10 * max(a, 1e-14)
    if "." in shown:
        return "." in printed and abs(a - b) <= 2.5 * 10.0 ** -len(shown.split(".")[1])
    return abs(a - b) <= max(abs(a), abs(b)) / 3


def difference(expected, output):
    """Why the output is not what is expected, or None."""
    lines, found = expected.splitlines(), output.splitlines()
    if len(lines) != len(found):
        return f"{len(found)} lines instead of {len(lines)}"
    for line, other in zip(lines, found):
        if NUMBER.sub("#", line) != NUMBER.sub("#", other):
            return f'"{other}" instead of "{line}"'
        for shown, printed in zip(NUMBER.findall(line), NUMBER.findall(other)):
            if not agrees(shown, printed):
                return f'{printed} instead of {shown} in "{other}"'
    return None


def main():
    program, expected = sys.argv[1:]
    output = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    with open(expected, encoding="utf-8") as file:
        wrong = difference(file.read(), output)
    print(output)
    sys.exit(f"{expected}: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
