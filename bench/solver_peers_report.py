"""What bench/solver_peers.py shows of its table: a picture, and Markdown."""
import csv
import textwrap


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    comments = [line.lstrip("# ") for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def best_of(rows):
    """{(problem, wanted): {library: row of its best setting}}"""
    found = {}
    for row in rows:
        if row["best"] == "yes":
            found.setdefault((row["problem"], row["wanted"]), {})[row["library"]] = row
    return found


def draw(comments, rows, picture):
    """A line for each problem: the best setting of each library by its seconds, hollow where it misses pairs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    look = {
        "BlockVec": ("#c53030", "o"),
        "SLEPc": ("#2b6cb0", "s"),
        "PRIMME": ("#2f855a", "^"),
        "ARPACK": ("#b7791f", "D"),
        "SciPy lobpcg": ("#6b46c1", "v"),
    }
    found = best_of(rows)
    figure, axis = plt.subplots(figsize=(9, 0.36 * len(found) + 1.6))
    for height, of in enumerate(reversed(found.values())):
        seconds = [float(row["seconds"]) for row in of.values()]
        axis.plot([min(seconds), max(seconds)], [height, height], color="#e2e8f0", zorder=1)
        for library, row in of.items():
            color, marker = look[library]
            face, is_ours = color if row["missed"] == "0" else "white", library == "BlockVec"
            size, order = (8, 3) if is_ours else (6, 2)
            axis.plot(float(row["seconds"]), height, marker, ms=size, color=face, mec=color, zorder=order)
    axis.set_xscale("log")
    axis.set_yticks(range(len(found)), [f"{problem}: {wanted}" for problem, wanted in reversed(found)], fontsize=9)
    axis.set_xlabel("seconds (hollow: wanted eigenvalues are missing)")
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.grid(axis="x", color="#edf2f7")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(length=0)
    handles = [plt.Line2D([], [], color=c, marker=marker, ls="", label=name) for name, (c, marker) in look.items()]
    figure.legend(handles=handles, ncols=len(look), loc="upper center", frameon=False, fontsize=9)
    figure.text(0.995, 0.005, textwrap.fill(comments[0], 120), ha="right", va="bottom", fontsize=6.5, color="#718096")
    figure.tight_layout(rect=(0, 0.02, 1, 0.95))
    figure.savefig(picture, dpi=110)


def print_table(rows):
    """The best settings in Markdown, for docs/performance.md."""
    print("| problem | wanted | here | best peer that misses none | ratio | miss some |\n|---|---|---|---|---|---|")
    for (problem, wanted), of in best_of(rows).items():
        here = of.get("BlockVec")
        peers = [row for library, row in of.items() if library != "BlockVec"]
        complete = sorted((row for row in peers if row["missed"] == "0"), key=lambda row: float(row["seconds"]))
        first = complete[0] if complete else None
        of_ours = f"{float(here['seconds']):.2g} s, {here['method']}" if here else "none"
        if here and here["missed"] != "0":
            of_ours += f", misses {here['missed']}"
        of_peer = f"{float(first['seconds']):.2g} s, {first['library']} {first['method']}" if first else "none"
        ratio = f"{float(first['seconds']) / float(here['seconds']):.1f}" if first and here else ""
        cells = [problem, wanted, of_ours, of_peer, ratio]
        cells += [", ".join(f"{row['library']} {row['missed']}" for row in peers if row["missed"] != "0")]
        print("| " + " | ".join(cells) + " |")
