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
    """Names and drivers of the GPUs, one string a card; none where there is no driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.splitlines()
    except OSError:
        return []
    return [line.replace(", ", ", driver ") for line in lines]


def head(program, commit, *more):
    """The first line of a result file."""
    return "; ".join([f"bench/{program} on {processor()}", *more, f"{datetime.date.today()}", f"commit {commit}"])
