"""Draw time and memory against size, from what `benchmarks/build.py --record` wrote (needs matplotlib).

python benchmarks/plot.py scale.jsonl docs/images/scale.svg
"""

import json
import sys
from pathlib import Path

from matplotlib import pyplot
from matplotlib.ticker import NullFormatter

LABELS = {"build": "build of an atlas, real proteins", "search": "index of synthetic feature vectors"}
COLORS = {"build": "C0", "search": "C1"}
PANELS = (("seconds", "time, s"), ("peak_mb", "peak memory, MB"), ("p50_ms", "exact search, p50 ms"))


def main(record: Path, picture: Path) -> None:
    """Write the picture: a panel each for time, memory and the time of a search, on logarithmic axes."""
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(11, 3.4), layout="constrained")
    for panel, (field, title) in zip(axes, PANELS, strict=True):
        for kind, label in LABELS.items():
            points = sorted((row["size"], row[field]) for row in rows if row["kind"] == kind and field in row)
            if points:
                panel.loglog(*zip(*points, strict=True), marker="o", color=COLORS[kind], label=label)
        panel.set(xlabel="proteins or vectors", title=title)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_ylim(bottom=min(panel.get_ylim()[0], 1))
        panel.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
