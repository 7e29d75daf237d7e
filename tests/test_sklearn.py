"""BestKSearchCV: scikit-learn's own checks, the right candidates, a fresh split for every fit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from bestk.errors import InputError
from bestk.sklearn import FITS, BestKSearchCV

EXAMPLE = Path(__file__).parents[1] / "examples" / "sklearn_search.py"


@pytest.fixture(autouse=True)
def _one_thread():
    """Many tiny fits: threads of the linear algebra would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.mark.filterwarnings("ignore")  # the checks make warnings of their own
@parametrize_with_checks(
    [
        BestKSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, k=1, budget=4, random_state=0),
        BestKSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, k=1, budget=4, low=-1e9),
    ]
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# --- a search whose truth is known ----------------------------------------------------------------


class Column(BaseEstimator):
    """Scores the mean of a column over the held-out rows; over all splits, the column's mean."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y=None):  # noqa: ARG002 - there is nothing to learn
        self.fitted_ = True
        return self

    def score(self, X, y=None):  # noqa: ARG002
        return float(X[:, self.column].mean())


MEANS = (0.2, 0.8, 0.5, 0.7, 0.3, 0.1)
TABLE = np.clip(np.random.default_rng(1).normal(MEANS, 0.1, (60, 6)), 0, 1)
COLUMNS = {"column": list(range(6))}


def search(**settings):
    chosen = {"k": 2, "epsilon": 0.05, "random_state": 3, "refit": False, **settings}
    return BestKSearchCV(chosen.pop("estimator", Column()), chosen.pop("grid", COLUMNS), **chosen)


def test_it_finds_the_best_candidates_and_says_how_sure_it_is():
    found = search(refit=True).fit(TABLE)
    assert found.top_k_ == [{"column": 1}, {"column": 3}]
    assert (found.best_params_, found.best_index_) == ({"column": 1}, 1)
    assert found.best_estimator_.column == 1
    assert found.score(TABLE) == pytest.approx(TABLE[:, 1].mean())
    result = found.result_
    assert (result.certified, result.error_bound, result.stopped) == (True, 0.05, "rule")
    assert result.samples < FITS * 6


def test_the_table_of_results_has_an_entry_a_candidate():
    found = search().fit(TABLE)
    table = found.cv_results_
    assert table["params"] == [{"column": i} for i in range(6)]
    assert list(table["param_column"]) == list(range(6))
    assert list(table["rank_test_score"]) == [5, 1, 3, 2, 4, 6]
    assert list(table["status"]) == ["out", "in", "out", "in", "out", "out"]
    assert table["n_pulls"].sum() == found.result_.samples
    truth = TABLE.mean(axis=0)
    assert np.all((table["low"] < truth) & (truth < table["high"]))
    assert table["mean_test_score"] == pytest.approx(truth, abs=0.05)
    assert found.best_score_ == table["mean_test_score"][1]
    assert np.all(table["std_test_score"] > 0)


def test_every_fit_draws_a_split_of_its_own():
    twins = [{"column": [1], "twin": [i]} for i in range(3)]
    seen = {}

    class Twin(Column):
        def __init__(self, column=0, twin=0):
            super().__init__(column)
            self.twin = twin

    def scorer(model, X):
        seen.setdefault(model.twin, []).append(model.score(X))
        return seen[model.twin][-1]

    found = search(estimator=Twin(), grid=twins, k=1, scoring=scorer, budget=90)
    with pytest.warns(ConvergenceWarning):
        found.fit(TABLE)
    every = [score for scores in seen.values() for score in scores]
    assert len(set(every)) == len(every) == 90
    assert list(found.cv_results_["mean_test_score"]) == [np.mean(seen[i]) for i in range(3)]
    assert list(found.cv_results_["std_test_score"]) == [np.std(seen[i]) for i in range(3)]


def test_a_random_state_fixes_everything():
    one, two, other = (search(random_state=state).fit(TABLE) for state in (3, 3, 4))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    assert one.result_.samples == two.result_.samples
    assert np.any(one.cv_results_["mean_test_score"] != other.cv_results_["mean_test_score"])


def test_fits_run_at_the_same_time_and_can_be_repeated():
    X, y = load_iris(return_X_y=True)
    grid = {"n_neighbors": [1, 5, 60, 90]}
    runs = [
        BestKSearchCV(KNeighborsClassifier(), grid, k=2, epsilon=0.2, n_jobs=2, random_state=0).fit(
            X, y
        )
        for _ in range(2)
    ]
    assert runs[0].result_.certified
    assert {params["n_neighbors"] for params in runs[0].top_k_} == {1, 5}
    assert list(runs[0].cv_results_["n_pulls"]) == list(runs[1].cv_results_["n_pulls"])
    assert runs[0].best_score_ == runs[1].best_score_


def test_a_spent_budget_is_said():
    with pytest.warns(ConvergenceWarning, match="budget of 12 fits was spent before the 2 best"):
        found = search(budget=12, epsilon=0.001).fit(TABLE)
    result = found.result_
    assert (result.certified, result.samples, result.stopped) == (False, 12, "budget")
    assert found.top_k_ == [{"column": 1}, {"column": 3}]


def test_candidates_are_drawn_at_random_if_asked():
    X, y = load_iris(return_X_y=True)
    found = BestKSearchCV(
        LogisticRegression(max_iter=1000), {"C": loguniform(1e-2, 1e2)}, n_candidates=4, k=1,
        epsilon=0.2, random_state=1,
    ).fit(X, y)  # fmt: skip
    drawn = found.cv_results_["param_C"]
    assert len(set(drawn)) == 4
    assert found.predict(X).shape == (150,)
    assert list(found.classes_) == [0, 1, 2]
    assert found.n_features_in_ == 4


def test_a_parameter_that_a_candidate_lacks_is_masked():
    grid = [{"column": [0, 1]}, {"column": [2], "twin": ["a"]}]

    class Twin(Column):
        def __init__(self, column=0, twin=None):
            super().__init__(column)
            self.twin = twin

    found = search(estimator=Twin(), grid=grid, k=1).fit(TABLE)
    assert list(found.cv_results_["param_twin"].mask) == [True, True, False]


# --- splits ---------------------------------------------------------------------------------------


def test_a_splitter_of_the_users_own_draws_the_splits():
    sizes = set()

    def scorer(model, X):
        sizes.add(len(X))
        return model.score(X)

    search(splitter=ShuffleSplit(test_size=7), scoring=scorer).fit(TABLE)
    assert sizes == {7}


def test_groups_can_be_kept_together():
    groups = np.repeat(np.arange(12), 5)
    rows = np.column_stack([TABLE, groups])
    held_out = []

    class Grouped(GroupShuffleSplit):
        def split(self, X, y=None, groups=None):
            return super().split(X, y, X[:, 6] if groups is None else groups)

    def scorer(model, X):
        held_out.append(X[:, 6])
        return model.score(X)

    search(splitter=Grouped(test_size=3), scoring=scorer).fit(rows)
    assert all(len(part) == 15 and len(set(part)) == 3 for part in held_out)


def test_classes_keep_their_shares_and_unsupervised_estimators_work():
    X, y = load_iris(return_X_y=True)
    shares = set()

    def scorer(model, X, y):
        shares.add(tuple(np.bincount(y)))
        return model.score(X, y)

    grid = {"n_neighbors": [1, 90]}
    BestKSearchCV(KNeighborsClassifier(), grid, k=1, epsilon=0.1, test_size=30, scoring=scorer).fit(
        X, y
    )
    assert shares == {(10, 10, 10)}
    scaled = StandardScaler().fit_transform(X)
    clusters = BestKSearchCV(
        KMeans(n_init=1, random_state=0), {"n_clusters": [1, 6]}, k=1, low=-1e3, high=0.0,
        epsilon=50.0, random_state=0,
    ).fit(scaled)  # fmt: skip
    assert clusters.best_params_ == {"n_clusters": 6}
    assert clusters.transform(scaled).shape == (150, 6)
    assert not hasattr(clusters, "predict_proba")


# --- refusals -------------------------------------------------------------------------------------


def test_without_refit_there_is_nothing_to_predict_with():
    found = search().fit(TABLE)
    assert not hasattr(found, "predict")
    assert not hasattr(found, "best_estimator_")
    with pytest.raises(AttributeError, match="score needs refit=True"):
        found.score(TABLE)


def test_before_the_fit_there_is_nothing_either():
    with pytest.raises(NotFittedError):
        search(refit=True).score(TABLE)
    with pytest.raises(NotFittedError):
        BestKSearchCV(LogisticRegression(), {"C": [1, 2]}, k=1).predict(TABLE)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 6}, "k=6 was refused: of 6 candidates, 1 to 5"),
        ({"k": 0}, "k=0 was refused"),
        ({"budget": 5}, "budget=5 was refused: every one of the 6 candidates"),
        ({"budget": float("nan")}, "budget=nan was refused"),
        ({"k": 1.5}, "k=1.5 was refused"),
        ({"epsilon": 0.5j}, "epsilon=0.5j was refused"),
        ({"low": "x"}, "range .'x', 1.0. was refused"),
        ({"high": 0.5}, r"score 0\.\d+ of the candidate .* low=0 and high=0.5"),
        ({"scoring": lambda model, X: float("nan")}, "score nan"),  # noqa: ARG005
        (
            {"k": 1, "policy": "lil-ucb", "epsilon": 0, "n_jobs": 2},
            "n_jobs=2 was refused: the theorem of lil-ucb",
        ),
        ({"delta": 2}, "delta"),
        ({"policy": "no-such"}, "unknown policy"),
    ],
)
def test_what_cannot_be_searched_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        search(**settings).fit(TABLE)


def test_a_fit_that_fails_names_its_candidate():
    with pytest.raises(IndexError) as caught:
        search(grid={"column": [0, 1, 17]}).fit(TABLE)
    assert "while fitting and scoring the candidate {'column': 17}" in caught.value.__notes__


def test_without_scikit_learn_it_says_what_to_install():
    hide = "import sys; sys.modules['sklearn'] = None; import bestk.sklearn"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'bestk[sklearn]'" in done.stderr


def test_the_example_certifies_three_configurations():
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.stderr == ""
    assert "certified: error <= 0.05" in done.stdout
    assert sum(line.endswith("  in") for line in done.stdout.splitlines()) == 3
