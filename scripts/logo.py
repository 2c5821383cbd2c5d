"""Sequence logos as SVG (Schneider and Stephens 1990, doi:10.1093/nar/18.20.6097)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
GAP = "-"
COLORS = {
    **dict.fromkeys("AVLIMC", "#2f6f3e"),
    **dict.fromkeys("FWYH", "#7a3e9d"),
    **dict.fromkeys("DE", "#c4161c"),
    **dict.fromkeys("KR", "#1f5fa8"),
    **dict.fromkeys("STNQ", "#c76b00"),
    **dict.fromkeys("GP", "#5c5c5c"),
}
# Advance widths and height of capitals of bold Arial, Helvetica and Liberation Sans, in thousandths of the size.
WIDTHS = dict(
    zip(
        LETTERS,
        (722, 722, 722, 667, 611, 778, 722, 278, 722, 611, 833, 722, 667, 778, 722, 667, 611, 667, 944, 667),
        strict=True,
    )
)
CAPITAL = 716
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
CELL, HEIGHT, LEFT, TOP, BOTTOM = 26.0, 130.0, 44.0, 10.0, 30.0
# A letter is stretched to its cell, but an I is not made a block.
STRETCH = 1.8
# Lower letters, in pixels, cannot be read and are left out.
SMALLEST = 3.0


def information(segments: Sequence[str]) -> npt.NDArray[np.float64]:
    """Height in bits of each letter of `LETTERS` at each position of aligned segments, float64 (positions, 20).

    Frequency times log2(20) - entropy - 19 / (2 ln(2) n), the correction of small samples (Schneider et al. 1986,
    doi:10.1016/0022-2836(86)90165-8), and no less than 0. Other letters and gaps are not counted.
    """
    table = np.array([list(segment) for segment in segments])
    counts = np.stack([(table == letter).sum(axis=0) for letter in LETTERS], axis=1)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / total
    entropy = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1, keepdims=True)
    bits = np.log2(len(LETTERS)) - entropy - (len(LETTERS) - 1) / (2 * np.log(2) * total)
    heights: npt.NDArray[np.float64] = shares * np.maximum(bits, 0)
    return heights


def draw_logo(segments: Sequence[str], *, first: int) -> str:
    """SVG of the logo of aligned segments, whose positions are numbered from `first`."""
    heights = information(segments)
    most = max(1.0, float(np.ceil(heights.sum(axis=1).max())))
    scale = HEIGHT / most
    width, height = LEFT + CELL * len(heights) + 10, TOP + HEIGHT + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="{FONT}">',
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        *_axes(len(heights), first, most),
    ]
    for column, row in enumerate(heights):
        bottom = TOP + HEIGHT
        for at in np.argsort(row, kind="stable"):
            tall = row[at] * scale
            if tall >= SMALLEST:
                parts.append(_letter(LETTERS[at], LEFT + CELL * column, bottom, tall))
            bottom -= tall
    return "\n".join([*parts, "</svg>"]) + "\n"


def _letter(letter: str, left: float, bottom: float, tall: float) -> str:
    """A letter of bold type at size 100, stretched to its cell and height."""
    wide = min((CELL - 2) / (WIDTHS[letter] / 10), STRETCH * CELL / 100)
    middle = left + CELL / 2
    return (
        f'<text transform="translate({middle:.1f} {bottom:.1f}) scale({wide:.3f} {tall / (CAPITAL / 10):.3f})" '
        f'font-size="100" font-weight="bold" text-anchor="middle" fill="{COLORS[letter]}">{letter}</text>'
    )


def _axes(columns: int, first: int, most: float) -> list[str]:
    """Axis of bits with a tick for each, and the number of each third position."""
    bottom = TOP + HEIGHT
    parts = [f'<path d="M{LEFT - 4:g} {TOP:g}V{bottom:g}H{LEFT + CELL * columns:g}" fill="none" stroke="#444444"/>']
    for bit in range(int(most) + 1):
        at = bottom - bit * HEIGHT / most
        parts.append(f'<path d="M{LEFT - 8:g} {at:.1f}h4" stroke="#444444"/>')
        parts.append(
            f'<text x="{LEFT - 11:g}" y="{at + 4:.1f}" font-size="12" text-anchor="end" fill="#444444">{bit}</text>'
        )
    parts.append(
        f'<text transform="translate(13 {TOP + HEIGHT / 2:g}) rotate(-90)" font-size="12" text-anchor="middle" '
        'fill="#444444">bits</text>'
    )
    for column in range(columns):
        if (first + column) % 3 == 0:
            at = LEFT + CELL * (column + 0.5)
            number = f"{first + column:+d}" if first + column else "peak"
            style = 'font-size="12" text-anchor="middle" fill="#444444"'
            parts.append(f'<text x="{at:g}" y="{bottom + 16:g}" {style}>{number}</text>')
    return parts
