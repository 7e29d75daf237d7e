"""Calls of a `bestk serve` elsewhere, with nothing but the standard library."""

from bestk.client.connection import Connection, Forbidden, Missing, is_server

__all__ = ["Connection", "Forbidden", "Missing", "is_server"]
