"""The cluster numbers on blobs that are known, and on those that are not what they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_selection import f_classif
from sklearn.metrics import adjusted_rand_score, silhouette_score

from languages.randomness import rng
from regulargpt.extraction.dendrogram import Dendrogram
from regulargpt.findings.draw import figure
from regulargpt.measurements import clusters as clusters_module
from regulargpt.measurements.clusters import (
    find_clusters,
    merged,
    plane,
    purity,
    rand_index,
    scores,
    spreads,
    thinned,
    too_close,
)
from regulargpt.measurements.plane import shares_of_variance
from regulargpt.measurements.planes import of_classes, of_states
from regulargpt.measurements.probe import probe
from regulargpt.measurements.state_classes import Sought
from regulargpt.measurements.state_clusters import picture
from regulargpt.measurements.states import NodeStates

LETTERS = Sought("letters", 4, "abcd", range(4), "letters")


def blobs(count: int, each: int = 20, width: int = 24, noise: float = 0.1, seed: int = 0):
    """Points around `count` means of length about sqrt(2 width): (states, elements)."""
    random = rng(seed, "blobs")
    means = random.normal(size=(count, width)) * np.sqrt(2)
    elements = np.repeat(np.arange(count), each)
    return means[elements] + noise * random.normal(size=(count * each, width)), elements


def nodes(states, elements, depths=1) -> NodeStates:
    n = len(elements)
    words, zeros = np.arange(n) % 10, np.zeros(n, int)
    return NodeStates(states.astype(np.float32), elements, zeros + depths, words, zeros, zeros + 1, zeros + 1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=60))
def test_the_rand_index_is_that_of_scikit_learn(pairs: list[tuple[int, int]]):
    elements, clusters = np.array(pairs).T
    assert rand_index(elements, clusters) == adjusted_rand_score(elements, clusters)


@pytest.mark.parametrize("noise", [0.0, 0.1])  # without noise many distances are equal
def test_clusters_are_merged_as_scikit_learn_merges_them(noise: float):
    states, _ = blobs(5, noise=noise)
    tree = AgglomerativeClustering(n_clusters=1, linkage="average", compute_distances=True).fit(states)
    made = Dendrogram.from_states(states, "average")
    assert np.array_equal(made.merges, tree.children_)
    assert np.array_equal(made.heights, tree.distances_)


@given(count=st.integers(2, 60), seed=st.integers(0, 1000), noise=st.sampled_from([0.0, 0.01, 0.1, 0.3]))
@settings(max_examples=25)
def test_blobs_are_counted(count: int, seed: int, noise: float):
    states, elements = blobs(count, each=8, noise=noise, seed=seed)
    found, gap = find_clusters(states)
    assert adjusted_rand_score(elements, found) == 1.0
    assert gap is not None
    assert gap > 1


def test_close_pieces_of_one_class_are_one_cluster():
    states, elements = blobs(2, each=30, noise=0.01)
    states[::3, 0] += 1.0  # a third of each class lies apart from the rest of it, near nothing else
    assert adjusted_rand_score(elements, find_clusters(states)[0]) == 1.0


def test_equal_rows_are_one_cluster_and_few_rows_that_are_all_far_apart_a_cluster_each():
    for rows in (1, 2, 9):
        found, gap = find_clusters(np.ones((rows, 3)))
        assert (found.tolist(), gap) == ([0] * rows, None)
    assert len(set(find_clusters(np.eye(5))[0].tolist())) == 5
    assert len(set(find_clusters(np.array([[0.0], [1.0], [20.0], [21.0]]))[0].tolist())) == 2
    assert spreads(np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0]]), np.array([3, 3, 7])).tolist() == [1.0, 0.0]


def test_merged_elements_are_found_out():
    states, elements = blobs(6)
    states[elements == 4] = states[elements == 1][::-1]
    found, _ = find_clusters(states)
    assert found.max() + 1 == 5
    assert merged(elements, found) == [[1, 4]]
    assert too_close(states, elements) == [(1, 4)]
    measured = scores(nodes(states, elements), found, 2.0, seed=0)
    assert (measured.elements, measured.clusters, measured.rows) == (6, 5, 120)
    assert measured.purity == pytest.approx(5 / 6)
    assert measured.ari < 1
    assert measured.distance is not None
    assert measured.distance < measured.spread
    assert measured.probe is not None
    assert measured.probe < 1


def test_one_cluster_for_each_class_is_perfect():
    states, elements = blobs(5)
    measured = scores(nodes(states, elements), elements, 2.0, seed=0)
    assert (measured.ari, measured.purity, measured.probe) == (1.0, 1.0, 1.0)
    assert measured.control is not None
    assert measured.control < 0.5
    assert measured.distance is not None
    assert measured.distance > 2 * measured.spread
    assert merged(elements, elements) == []
    assert too_close(states, elements) == []


def test_the_plane_is_the_singular_vectors():
    states, _ = blobs(4, width=6)
    points, shares = plane(states)
    centred = states - states.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(points), np.abs(u[:, :2] * s[:2]))
    assert np.allclose(shares, (s**2 / (s**2).sum())[:2])


@pytest.mark.parametrize("depths", [1, 3])
def test_the_picture_names_depths_where_there_are_several(depths: int):
    states, elements = blobs(4, width=6)
    rows = nodes(states, elements, np.arange(len(states)) % depths + 1)
    drawn = figure(picture(rows, elements, of_states(rows), LETTERS, "blobs"))
    named = [text.get_text() for legend in drawn.legends for text in legend.get_texts()]
    assert sum(name.startswith("depth") for name in named) == (depths if depths > 1 else 0)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("flat", [0.0, 1e-4, 1.0])
def test_the_picture_has_one_unit_and_names_the_shares_of_variance(flat: float, size: float):
    states, elements = blobs(4, width=6)
    states = size * (states @ np.diag([1.0, *[flat] * 5]))  # with 0 all on a line
    points, shares = plane(states)
    rows = nodes(states, elements)
    drawn = figure(picture(rows, elements, of_states(rows), LETTERS, "blobs"))
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    across, up = axes.transData.transform([[0, 0], [size, size]]).T
    assert np.ptp(across) == pytest.approx(np.ptp(up), rel=5e-3)  # matplotlib leaves less than this as it is
    pixels, box = axes.transData.transform(points), axes.bbox  # (rows, 2)
    assert (pixels >= [box.x0, box.y0]).all()
    assert (pixels <= [box.x1, box.y1]).all()
    assert axes.get_xlabel() == f"PC 1 ({100 * shares[0]:.1f} % of the variance)"
    assert axes.get_ylabel() == f"PC 2 ({100 * shares[1]:.1f} %)"


def test_one_class_has_no_distance_and_no_probe():
    states, elements = blobs(1)
    measured = scores(nodes(states, elements), elements, None, seed=0)
    assert (measured.distance, measured.silhouette, measured.probe, measured.control) == (None,) * 4
    assert purity(elements, elements) == 1.0


def test_the_probe_is_tested_on_words_it_was_not_trained_on():
    states, elements = blobs(3)
    rows = nodes(states, elements)
    assert probe(rows, 0) == probe(rows, 0)
    assert probe(rows, 0).accuracy == 1.0
    # On the held-out words, 5..9, the second class looks like the third: none of its rows is answered right.
    held_out = (rows.words >= 5) & (elements == 1)
    states[held_out] = states[elements == 2][: held_out.sum()]
    assert probe(nodes(states, elements), 0).accuracy == pytest.approx(2 / 3)


def test_thinning_keeps_rows_in_order(monkeypatch):
    monkeypatch.setattr(clusters_module, "MAX_ROWS", 7)
    states, elements = blobs(3)
    few = thinned(nodes(states, elements), 0)
    assert len(few) == 7
    assert (np.diff(few.elements) >= 0).all()


def test_shares_of_variance_are_those_of_the_singular_values():
    states, _ = blobs(4, width=16)
    found = shares_of_variance(states)
    variances = np.linalg.eigvalsh(np.cov(states.T))[::-1]
    assert np.allclose(found, (variances / variances.sum())[:10])


@pytest.mark.parametrize("classes", [2, 5])
def test_discriminants_part_classes_only_on_words_that_they_were_not_found_on(classes: int):
    """Of noise in many dimensions they part what they were found on; the rows that are drawn show that it is noise."""
    random = np.random.default_rng(0)
    states = random.normal(size=(150, 60)).astype(np.float32)
    noise = nodes(states, random.integers(classes, size=150))
    found = of_classes(noise)
    seen, new = (
        f_classif(found.points[rows, :1], noise.elements[rows])[0].item() for rows in (~found.drawn, found.drawn)
    )
    assert seen > 5 > 2 > new
    assert set(noise.words[found.drawn]).isdisjoint(noise.words[~found.drawn])
    assert "between classes" in found.axes[0]
    # Classes that lie along a direction of little variance are parted there, and not by the principal components.
    states[:, 7] = 0.01 * states[:, 7] + 0.3 * noise.elements
    parted, plain = of_classes(nodes(states, noise.elements)), of_states(nodes(states, noise.elements))
    assert silhouette_score(parted.points[parted.drawn, :1], noise.elements[parted.drawn]) > 0.5
    assert silhouette_score(plain.points, noise.elements) < 0.1


def test_one_word_or_one_class_has_no_discriminant():
    states, _ = blobs(4, width=6)
    alone = nodes(states, np.zeros(len(states), int))
    assert of_classes(alone).axes == of_states(alone).axes
