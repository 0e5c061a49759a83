"""What results say of the machine that they come from."""
import datetime
import platform
import subprocess


def processor():
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def cards():
    """Name and driver of the GPUs, which are alike, and how many there are if there are several."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.splitlines()
    except OSError:
        lines = []
    if not lines:
        return "no card"
    return (f"{len(lines)} of " if len(lines) > 1 else "") + lines[0].replace(", ", ", driver ")


def head(program, commit, *more):
    """The first line of a result file."""
    return "; ".join([f"bench/{program} on {processor()}", *more, f"{datetime.date.today()}", f"commit {commit}"])
