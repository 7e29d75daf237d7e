"""`bestk serve`: studies for workers on many machines, people who rate, and everyone who watches.

Nothing outside of this package knows fastapi, starlette or uvicorn.

    tokens      who may do what: created once, kept hashed, revocable
    records     the server's own logs, beside those of the studies
    limits      how much, how long, how often
    complaints  what is wrong with the storage, for the server's own log
    guard       what every request passes first: host, origin, size, rate, who asks
    catalogue   the studies that are open here
    desk        one study: requests of one moment answered in one transaction
    snapshots   what viewers see, computed once for all of them
    streams     server-sent events
    messages    what requests hold
    app         the endpoints put together; `working`, `reading`, `keeping` and `showing` hold them
    running     from the command line to a running server
"""
