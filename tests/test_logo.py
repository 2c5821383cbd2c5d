from xml.etree import ElementTree

import numpy as np
import pytest

from scripts.logo import LETTERS, draw_logo, information


def test_a_column_of_one_letter_holds_all_bits_but_the_correction() -> None:
    heights = information(["A"] * 50)

    assert heights[0, LETTERS.index("A")] == pytest.approx(np.log2(20) - 19 / (2 * np.log(2) * 50))
    assert heights.sum() == heights.max()


def test_two_letters_share_the_bits_and_gaps_are_not_counted() -> None:
    heights = information(["A"] * 20 + ["C"] * 20 + ["-"] * 40)

    bits = np.log2(20) - 1 - 19 / (2 * np.log(2) * 40)
    assert heights[0, LETTERS.index("A")] == pytest.approx(bits / 2)
    assert heights[0, LETTERS.index("C")] == pytest.approx(bits / 2)


def test_few_segments_show_nothing() -> None:
    assert information(["A", "A", "A"]).max() == 0


def test_a_logo_is_xml_with_each_letter_that_can_be_seen() -> None:
    svg = ElementTree.fromstring(draw_logo(["KA"] * 30 + ["KC"] * 30, first=-1))

    bold = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text") if text.get("font-weight") == "bold"]
    assert sorted(filter(None, bold)) == ["A", "C", "K"]
