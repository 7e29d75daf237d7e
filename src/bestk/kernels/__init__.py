"""L0: arrays and numbers only. Every policy's `ask`, `tell` and `recommend`, and the run loop.

Read `types` first, then `step` (the ladder), then the family you came for:
`pair` (LUCB and its relatives), `clucb`, `ugape`, `lilucb`.
"""
