"""Hyper-parameter search for scikit-learn: the K best candidates, with a guarantee.

Where a grid search scores every candidate on the same few splits, `BestKSearchCV` draws a fresh
random split for every fit and spends the fits where the answer is still open.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from bestk.arguments import count, integer
from bestk.errors import InputError
from bestk.rewards import Bounded
from bestk.study import Study

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import (
        ParameterGrid,
        ParameterSampler,
        ShuffleSplit,
        StratifiedShuffleSplit,
    )
    from sklearn.utils import check_random_state, get_tags, indexable
    from sklearn.utils.metaestimators import _safe_split, available_if
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError(
        f"bestk.sklearn needs scikit-learn 1.6 or newer ({error}): pip install 'bestk[sklearn]'"
    ) from error

FITS = 100  # the default budget, per candidate; arbitrary

Params = dict[str, Any]


def _score(
    estimator: Any, splitter: Any, scorer: Any, X: Any, y: Any, seed: int, params: Params, pull: int
) -> float:
    """One pull: fit on a fresh random split, score on what it holds out.

    Its split is drawn from the seed of the search and the number of the pull alone.
    """
    splitter = copy.copy(splitter)
    splitter.n_splits = 1
    splitter.random_state = int(np.random.SeedSequence([seed, pull]).generate_state(1)[0])
    train, test = next(splitter.split(X, y))
    try:
        # values of parameters may be estimators themselves: every fit gets its own
        model = clone(estimator).set_params(**clone(params, safe=False))
        model.fit(*_safe_split(model, X, y, train))
        held_out = _safe_split(model, X, y, test, train)
        return float(scorer(model, *(held_out if y is not None else held_out[:1])))
    except Exception as error:
        error.add_note(f"while fitting and scoring the candidate {params}")
        raise


def _require_refit(search: BestKSearchCV, name: str) -> None:
    if not search.refit:
        raise AttributeError(f"{name} needs refit=True: nothing was fitted on all data")


def _has(search: BestKSearchCV, name: str) -> bool:
    """Whether the best estimator has something; before the fit, whether `estimator` has it."""
    _require_refit(search, name)
    getattr(getattr(search, "best_estimator_", search.estimator), name)
    return True


def _of_best(name: str, says: str) -> Any:
    """A method of the best estimator, for a search whose estimator has it."""

    def method(self: BestKSearchCV, X: Any) -> Any:
        _require_refit(self, name)
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__doc__ = name, says
    return available_if(lambda search: _has(search, name))(method)


class BestKSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc] # untyped bases
    """The `k` best candidates by mean score over repeated random splits, with a guarantee.

    With probability at least 1 - `delta` each of the k found has a mean score within `epsilon` of
    the k-th best candidate's. What is meant is the mean over all random splits of *this* data set:
    nothing is claimed of other data. Every fit draws a split of its own, so that, given the data,
    the scores of a candidate are independent and alike, and those of different candidates are
    independent, which the proof uses. (Splits that candidates share would make them dependent.)
    The guarantee is for the k as a set: that the first of them, `best_params_`, is the best of all
    is certified with k=1 only.

    Parameters
    ----------
    estimator : the estimator whose parameters are searched.
    param_grid : dict of lists, or a list of such dicts, as in `GridSearchCV`.
    n_candidates : draw this many candidates at random, as `RandomizedSearchCV` does; values in
        `param_grid` may then be distributions. None: the whole grid.
    k : how many are wanted; fewer than there are candidates.
    delta : the error probability allowed.
    epsilon : the slack; 0 asks for the exact k best, which cannot end where two are equally good.
    scoring : name of a scorer, or a callable; None: the estimator's own `score`.
    low, high : the range of the score, known in advance; a score outside ends the fit with an
        error. R2 has no lower end: give a scorer that cuts it off, such as
        `lambda model, X, y: max(0.0, model.score(X, y))`.
    splitter : draws the splits: `ShuffleSplit` or anything like it with `n_splits` and
        `random_state`, which are set for every fit. None: `StratifiedShuffleSplit` for classifiers,
        `ShuffleSplit` for others, with `test_size`.
    test_size : what the default splitter holds out.
    budget : the most fits. None: 100 per candidate. If it is spent before the answer is certain,
        the fit ends with a `ConvergenceWarning`.
    policy : which candidate to fit next and when to stop; None: e-lucb. `bestk policies` lists all.
    n_jobs : fits at a time, by joblib. The same `random_state` and `n_jobs` give the same result.
    refit : fit the best candidate on all data, to predict with.
    random_state : of the splits, the drawn candidates and the policy.

    Attributes
    ----------
    top_k_ : parameters of the k found, best mean first.
    best_params_, best_index_, best_score_, best_estimator_, refit_time_ : of the first of them.
    cv_results_ : dict of arrays with one entry per candidate: params, param_NAME, mean_test_score,
        std_test_score, rank_test_score (by mean alone: one that is out, of few fits, may rank above
        one that is in), n_pulls (fits), low and high (its confidence interval), status (in, out or
        undecided).
    result_ : the `bestk.Result`; `result_.certified` says whether the guarantee holds.
    scorer_, classes_, n_features_in_, feature_names_in_ : as in `GridSearchCV`.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_candidates: int | None = None,
        k: int = 3,
        delta: float = 0.05,
        epsilon: float = 0.02,
        scoring: Any = None,
        low: float = 0.0,
        high: float = 1.0,
        splitter: Any = None,
        test_size: float | int = 0.25,
        budget: int | None = None,
        policy: str | None = None,
        n_jobs: int | None = None,
        refit: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator, self.param_grid, self.n_candidates = estimator, param_grid, n_candidates
        self.k, self.delta, self.epsilon = k, delta, epsilon
        self.scoring, self.low, self.high = scoring, low, high
        self.splitter, self.test_size, self.budget = splitter, test_size, budget
        self.policy, self.n_jobs, self.refit = policy, n_jobs, refit
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> BestKSearchCV:
        """Search, then fit the best candidate on all data."""
        X, y = indexable(X, y)
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        random = check_random_state(self.random_state)
        candidates = self._candidates(random)
        budget = self._budget(len(candidates))
        coins, splits = (int(seed) for seed in random.randint(2**31 - 1, size=2))
        study = Study(
            type(self).__name__, range(len(candidates)), k=self.k, delta=self.delta,
            epsilon=self.epsilon, rewards=Bounded(self.low, self.high), policy=self.policy,
            seed=coins,
        )  # fmt: skip
        scores = self._search(study, candidates, budget, X, y, splits)
        self.result_ = study.summary("budget")
        self._report(candidates, scores)
        if self.result_.stopped == "budget":
            proved = self.result_.certifiable_epsilon
            warnings.warn(
                f"the budget of {budget} fits was spent before the {self.k} best candidates were"
                f" certain up to epsilon={self.epsilon:g}; what was found is "
                + ("a guess" if proved is None else f"certain up to {proved:.2g}"),
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.refit:
            self._refit(X, y)
        return self

    def _search(
        self, study: Study, candidates: Sequence[Params], budget: int, X: Any, y: Any, seed: int
    ) -> list[list[float]]:
        """Fit and score until the rule stops or the budget is spent; the scores by candidate."""
        jobs = effective_n_jobs(self.n_jobs)
        if jobs > 1:
            study.require_order(f"n_jobs={self.n_jobs}")
        score = partial(_score, self.estimator, self._splitter(y), self.scorer_, X, y, seed)
        scores: list[list[float]] = [[] for _ in candidates]
        with Parallel(n_jobs=self.n_jobs) as parallel:
            while pulls := study.ask(jobs)[: budget - study.samples]:
                arms = [cast("int", pull.arm) for pull in pulls]
                found = parallel(
                    delayed(score)(candidates[arm], pull.index)
                    for arm, pull in zip(arms, pulls, strict=True)
                )
                for arm, value in zip(arms, found, strict=True):
                    self._check_range(value, candidates[arm])
                    scores[arm].append(value)
                study.tell_many(zip(pulls, found, strict=True))
        return scores

    def _candidates(self, random: np.random.RandomState) -> list[Params]:
        if self.n_candidates is None:
            found = list(ParameterGrid(self.param_grid))
        else:
            found = list(ParameterSampler(self.param_grid, self.n_candidates, random_state=random))
        if not 1 <= integer(self.k, "k") < len(found):
            raise InputError(
                f"k={self.k} was refused: of {len(found)} candidates, 1 to {len(found) - 1} can be"
                " searched for"
            )
        return found

    def _splitter(self, y: Any) -> Any:
        if self.splitter is not None:
            return self.splitter
        stratify = (
            y is not None
            and is_classifier(self.estimator)
            and type_of_target(y) in ("binary", "multiclass")
        )
        return (StratifiedShuffleSplit if stratify else ShuffleSplit)(test_size=self.test_size)

    def _budget(self, candidates: int) -> int:
        if self.budget is None:
            return FITS * candidates
        if (budget := count(self.budget, "budget", 0)) < candidates:
            raise InputError(
                f"budget={self.budget} was refused: every one of the {candidates} candidates needs"
                " at least one fit"
            )
        return budget

    def _check_range(self, score: float, params: Params) -> None:
        if not self.low <= score <= self.high:
            raise InputError(
                f"score {score:g} of the candidate {params} was refused: it must lie between"
                f" low={self.low:g} and high={self.high:g}; give the range of the score, or a"
                " scoring that has one"
            )

    def _report(self, candidates: Sequence[Params], scores: Sequence[Sequence[float]]) -> None:
        result = self.result_
        means = np.array([np.mean(own) for own in scores])
        self.cv_results_ = {
            **_columns(candidates),
            "params": list(candidates),
            "mean_test_score": means,
            "std_test_score": np.array([np.std(own) for own in scores]),
            "rank_test_score": 1 + np.array([int(np.sum(means > mean)) for mean in means]),
            "n_pulls": np.array([arm.pulls for arm in result.arms]),
            "low": np.array([-np.inf if arm.low is None else arm.low for arm in result.arms]),
            "high": np.array([np.inf if arm.high is None else arm.high for arm in result.arms]),
            "status": np.array([arm.status for arm in result.arms]),
        }
        top: list[Any] = list(result.top)
        self.top_k_ = [candidates[i] for i in top]
        self.best_index_ = top[0]
        self.best_params_ = candidates[top[0]]
        self.best_score_ = float(means[top[0]])

    def _refit(self, X: Any, y: Any) -> None:
        started = time.perf_counter()
        params = clone(self.best_params_, safe=False)
        self.best_estimator_ = clone(self.estimator).set_params(**params).fit(X, y)
        self.refit_time_ = time.perf_counter() - started
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    # --- what the best estimator can do -----------------------------------------------------------

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the best estimator on other data."""
        _require_refit(self, "score")
        check_is_fitted(self)
        return float(self.scorer_(self.best_estimator_, *((X,) if y is None else (X, y))))

    predict = _of_best("predict", "Predictions of the best estimator.")
    predict_proba = _of_best("predict_proba", "Class probabilities by the best estimator.")
    predict_log_proba = _of_best(
        "predict_log_proba", "Logarithms of class probabilities by the best estimator."
    )
    decision_function = _of_best(
        "decision_function", "The decision function of the best estimator."
    )
    score_samples = _of_best("score_samples", "A score of every sample by the best estimator.")
    transform = _of_best("transform", "`X` transformed by the best estimator.")
    inverse_transform = _of_best("inverse_transform", "`X` transformed back by the best estimator.")

    @property
    def classes_(self) -> Any:
        """Labels of the classes, of a refitted classifier."""
        _has(self, "classes_")
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the refitted estimator."""
        _has(self, "n_features_in_")
        count: int = self.best_estimator_.n_features_in_
        return count

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        kinds = ("classifier_tags", "regressor_tags", "target_tags", "input_tags")
        for name in ("estimator_type", *kinds):
            setattr(tags, name, copy.deepcopy(getattr(own, name)))
        return tags


def _columns(candidates: Sequence[Params]) -> dict[str, np.ma.MaskedArray[Any, Any]]:
    """param_NAME of every name, masked where a candidate does not set it."""
    columns = {}
    for name in sorted({name for params in candidates for name in params}):
        column = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for i, params in enumerate(candidates):
            if name in params:
                column[i] = params[name]
        columns[f"param_{name}"] = column
    return columns
