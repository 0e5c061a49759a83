"""What results say of the machine that they come from."""
import datetime
import platform


def processor():
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def head(program, commit, *more):
    """The first line of a result file."""
    return "; ".join([f"bench/{program} on {processor()}", *more, f"{datetime.date.today()}", f"commit {commit}"])
