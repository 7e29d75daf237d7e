"""L0: every policy's `ask`, `tell` and `recommend`, and the run loop; arrays and numbers only.

Plain Python, which runs as it stands; `bestk/compiled` makes machine code of the part that a policy
needs. Read `types` first, then the family you came for:

| file       | what                                                                             |
|------------|----------------------------------------------------------------------------------|
| lucb       | Algorithm 1, lil'RandLUCB, and the LUCB family with e-lucb                       |
| clucb      | Algorithm 2, lil'CLUCB, and CLUCB, for the K largest means                       |
| cpe        | Algorithm 3, the same over any decision class                                    |
| sets       | e-clucb: evidence of whole sets, for any class                                   |
| matroid    | e-clucb: exchanges in a matroid                                                  |
| ugape      | UGapE                                                                            |
| lil_ucb    | lil'UCB                                                                          |
| hybrid     | the hybrid stop of e-lucb and e-clucb                                            |
| glr        | the likelihood ratio stop of glr                                                 |
| bounds     | confidence bounds, also as keys of trees                                         |
| evidence   | e-processes and their inverses; special: the functions behind them               |
| top_means  | High, the K largest means                                                        |
| trees      | tournament trees; kinetic: trees of keys that grow with time                     |
| oracles    | compiled maximisation oracles                                                    |
| rng        | counter-based randomness                                                         |
| step       | one `ask` and one `tell` for all families; statistics: many tells at once        |
| loop       | a policy against simulated rewards                                               |
"""
