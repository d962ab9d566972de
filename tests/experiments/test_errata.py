"""Contradictions between published numbers, from the data itself; docs/errata.md tells them."""

from itertools import product

import pytest

from experiments.published import published

LENGTHS = (512, 1024, 2048, 4096, 8192)


def value(table: str, row: str, column: str) -> float:
    """A published mean."""
    of = published(table)
    found = of.value(row, column, of.statistics[0])
    assert isinstance(found, float), (table, row, column)
    return found


def test_two_protocols_share_four_cells():
    """Tables 3.3 (non-overlapping segments) and 4.3 (last token) have the same Rotary on GitHub, deviations too."""
    for length in LENGTHS[1:]:
        row = f"github/{length}"
        for statistic in ("mean", "sd"):
            of_tables = {published(table).value(row, "rotary", statistic) for table in ("table-3.3", "table-4.3")}
            assert len(of_tables) == 1
    assert value("table-3.3", "github/512", "rotary") != value("table-4.3", "github/512", "rotary")


@pytest.mark.parametrize("table", ["table-4.1", "table-4.4"])
def test_three_sets_of_slopes_share_every_digit(table: str):
    """Shift 6, shift 8 and equal slopes 2^-8: the slopes 2^-6.7 .. 2^-14, 2^-8.7 .. 2^-16 and 2^-8."""
    of_length = [
        [value(table, str(length), column) for column in ("shift=6", "shift=8", "equal=8")] for length in LENGTHS
    ]
    assert all(len(set(values)) == 1 for values in of_length)


def test_one_model_has_two_columns_of_perplexities():
    """ALiBi unshifted on ArXiv, by the text the same model and protocol: 5.57 .. 5.95 here, 5.25 .. 5.58 there."""
    for length in LENGTHS:
        assert value("table-4.1", str(length), "shift=0") - value("table-4.3", f"arxiv/{length}", "alibi") > 0.15


def test_a_lower_perplexity_is_marked_as_worse():
    row = published("table-4.3").row("github/512")
    assert row is not None
    assert row.marks["alibi"] == "†"
    assert value("table-4.3", "github/512", "alibi") < value("table-4.3", "github/512", "sandwich")


@pytest.mark.parametrize("data", ["arxiv", "openwebtext2"])
def test_the_repaired_alibi_is_not_stable(data: str):
    """Section 4.5.2 calls shift 6 stable once trained at 2048; at 4096 it is 30 % higher, at last as the window."""
    assert value("table-4.2", "4096", f"{data}/shift=6") > 1.3 * value("table-4.2", "2048", f"{data}/shift=6")
    assert value("table-4.2", "8192", f"{data}/shift=6") == value("table-4.2", "8192", f"{data}/window=160")


def test_no_difference_of_table_2_is_about_0_3():
    """LEX, section 5: "Alibi's perplexity is larger than ROPE by about 0.3" (Table 2)."""
    found = [
        value("lex-table-2", f"{data}/alibi", T) - value("lex-table-2", f"{data}/rotary", T)
        for data, T in product(("pg22", "qmsum"), ("256", "512", "1024"))
    ]
    assert [round(difference, 2) for difference in found] == [0.98, 0.81, 0.66, 0.19, 0.09, 0.05]


def test_a_resolution_above_1_is_printed():
    """`test_resolution_never_exceeds_1` proves that Eq. 4 cannot give it."""
    assert value("lex-table-3", "xpos+bca", "2048") == 1.08


def depth(chunk: int, length: int) -> int:
    """ceil(log_C T), in whole numbers."""
    steps = 0
    while chunk**steps < length:
        steps += 1
    return steps


def test_regulargpt_explodes_where_a_new_dilation_is_applied():
    """Table 6.3: more than tenfold exactly where ceil(log_C T) exceeds its value at 512."""
    for column in ("32/6", "64/6", "128/6", "128/12", "256/6"):
        chunk = int(column.partition("/")[0])
        for length in LENGTHS[1:]:
            perplexity = value("table-6.3", str(length), f"regulargpt-{column}")
            explodes = perplexity > 10 * value("table-6.3", "512", f"regulargpt-{column}")
            assert explodes == (depth(chunk, length) > depth(chunk, 512)), (column, length)


def test_bias_and_weight_have_48_parameters_not_36():
    """Table 3.2 allows 36 for 12 heads; the variant of Table 3.5 has r1 .. r4 a head."""
    assert 4 * 12 > 36


def test_the_mean_of_a_row_of_table_5_3():
    assert sum((27.1, 36.1, 33.9, 246, 43.8)) / 5 == pytest.approx(77.38)  # 77.5 is printed


def test_an_improvement_of_table_5_5_is_printed_1_0_too_low():
    after, before = (value("table-5.5", row, "30/4") for row in ("large/t5+p_max", "large/t5"))
    assert after - before == 2.5
    assert value("table-5.5", "large/improvement", "30/4") == 1.5


def test_a_passkey_is_hidden_in_characters_not_in_sentences():
    """Table 5.4 has 55k sentences in at most 15.5k tokens. As characters, 3.5 to 4 are a token at every length."""
    row = published("table-5.9").row("t5+log")
    assert row is not None
    counts = [column for column in row.values if column.startswith("passkey/")]
    for column in counts:
        tokens = 512 ** (1 / value("table-5.9", "t5+log", column))
        assert 3.5 < int(column.removeprefix("passkey/")) / tokens < 4
    assert len(counts) == 5


def test_the_search_for_temperatures_often_ends_at_its_bound():
    """Cells of entropy at 0.5, and all of its cells."""
    ends = {}
    for table in ("table-5.8", "table-5.9", "table-5.10", "table-5.11"):
        cells = [v for row in published(table).rows if row.row.endswith("entropy") for (v,) in row.values.values()]
        ends[table] = (cells.count(0.5), len(cells))
    assert ends == {"table-5.8": (5, 15), "table-5.9": (14, 48), "table-5.10": (0, 9), "table-5.11": (14, 16)}


def test_entropy_lowers_the_temperature_more_except_in_one_cell():
    """Section 5.7; at the end of the search both are 0.5, and once both are 0.55."""
    less, same = [], []
    for table in ("table-5.8", "table-5.9", "table-5.10", "table-5.11"):
        for row in published(table).rows:
            if row.row.endswith("p_max"):
                for column in row.values:
                    gap = value(table, row.row.replace("p_max", "entropy"), column) - value(table, row.row, column)
                    less += [(table, row.row, column)] * (gap > 0)
                    same += [value(table, row.row, column)] * (gap == 0)
    assert less == [("table-5.8", "xxl/t5+p_max", "4096")]
    assert published("table-5.8").doubt("xxl/t5+p_max", "4096")
    assert sorted(same) == [0.5, 0.5, 0.5, 0.55]


def test_the_rule_of_lengths_is_not_too_high_for_the_smallest_model():
    """Section 5.7 says it is, of Figure 5.3. Beside P_max that is so for the largest from 4096 on (Table 5.8)."""
    high = [
        (size, length)
        for size, length in product(("large", "xl", "xxl"), ("1024", "2048", "4096", "8192", "15000"))
        if value("table-5.8", "t5+log", length) > value("table-5.8", f"{size}/t5+p_max", length)
    ]
    assert high == [("xl", "15000"), ("xxl", "4096"), ("xxl", "8192"), ("xxl", "15000")]


def test_at_the_last_position_one_model_does_not_lose():
    """Section 5.5.3: "The performance drops if the ground truth answer is at position 29"."""
    sizes = ("large", "xl", "xxl")
    assert [value("table-5.5", f"{size}/improvement", "30/29") for size in sizes] == [-0.9, 0.9, -2.1]


def test_entropy_does_not_improve_short_code():
    """Section 5.5.4: "both alignment strategies improve the performance substantially". It calls one tie better too."""
    for length in ("1000", "2000"):
        assert value("table-5.12", "t5+entropy", length) < value("table-5.12", "t5", length)
    assert value("table-5.13", "t5+p_max", "4000") == value("table-5.13", "t5+truncation", "4000")
