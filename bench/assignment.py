"""The matching of queries with objects beside scipy's, matrices of random costs."""
import numpy as np


def assign(m, n, k):
    from scipy.optimize import linear_sum_assignment
    costs = np.random.default_rng(0).standard_normal((k, m, n))

    def run():
        for cost in costs:
            linear_sum_assignment(cost)
    return [("scipy", run)]


def lines():
    for m, n in ((100, 100), (100, 20)):
        yield f"assignment {m} x {n}, 20 matrices", assign, (m, n, 20), (2.0, 2.0)
