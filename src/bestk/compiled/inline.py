"""Calls replaced by what they call, in the source: every function that is compiled costs time.

Numba compiles each function on its own and optimises it again inside each caller, so that a deep
tree of small functions takes several times as long as a few large ones.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping

SMALL = 60  # nodes of a function that is put into every place that calls it; found by trying


def names_called(node: ast.AST) -> list[str]:
    """Names of the functions called."""
    return [
        part.func.id
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    ]


def reachable(
    functions: Iterable[ast.FunctionDef], entries: Iterable[str]
) -> list[ast.FunctionDef]:
    """The functions that the entries call, by way of others too; callees first, as given."""
    needed, found = set(entries), []
    for function in reversed(list(functions)):
        if function.name in needed:
            needed.update(names_called(function))
            found.append(function)
    return found[::-1]


def inlined(functions: list[ast.FunctionDef], keep: set[str]) -> list[ast.FunctionDef]:
    """The same program, callees first: short and singly used functions stand where they are called.

    Those of `keep` stay functions.
    """
    uses = Counter(name for function in functions for name in names_called(function))
    known: dict[str, ast.FunctionDef] = {}
    for function in functions:
        function.body = _Inliner(known).block(function.body)
        size = sum(1 for _ in ast.walk(function))
        if function.name not in keep and (uses[function.name] == 1 or size <= SMALL):
            known[function.name] = function
    return reachable(functions, [f.name for f in functions if f.name in keep])


class _Inliner:
    """Puts known functions where statements call them."""

    def __init__(self, known: Mapping[str, ast.FunctionDef]) -> None:
        self._known = known
        self._count = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A list of statements in place of another."""
        found: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.If | ast.For | ast.While):
                statement.body = self.block(statement.body)
                statement.orelse = self.block(statement.orelse)
            found += self._spliced(statement)
        return found

    def _spliced(self, statement: ast.stmt) -> list[ast.stmt]:
        """A call that is all of a statement, or all of what it assigns or returns."""
        if not isinstance(statement, ast.Expr | ast.Assign | ast.Return):
            return [statement]
        call = statement.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return [statement]
        function = self._known.get(call.func.id)
        if function is None:
            return [statement]
        before, body = self._instance(function, call.args)
        if isinstance(statement, ast.Return):
            return before + body
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        straight = _straight(body, target)
        return [statement] if straight is None else before + straight

    def _instance(
        self, function: ast.FunctionDef, arguments: list[ast.expr]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The assignments of arguments, and the body with names of its own."""
        self._count += 1
        own = {
            node.id: f"{node.id}_{self._count}"
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        bound: dict[str, ast.expr] = {name: ast.Name(new) for name, new in own.items()}
        before: list[ast.stmt] = []
        for parameter, argument in zip(function.args.args, arguments, strict=True):
            name = parameter.arg
            if name not in own and is_cheap(argument):
                bound[name] = argument
                continue
            new = own.get(name, f"{name}_{self._count}")
            bound[name] = ast.Name(new)
            before.append(ast.Assign([ast.Name(new, ast.Store())], argument, lineno=0))
        rename = Renaming(bound)
        copies = (ast.parse(ast.unparse(statement)).body[0] for statement in function.body)
        return before, [rename.visit(copy) for copy in copies]


def is_cheap(node: ast.expr) -> bool:
    """Whether an expression may be evaluated later, or twice: a name, a field, a number."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


class Renaming(ast.NodeTransformer):
    """Other names, or arguments in place of parameters."""

    def __init__(self, bound: Mapping[str, ast.expr]) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name that is bound."""
        found = self._bound.get(node.id, node)
        return ast.Name(found.id, node.ctx) if isinstance(found, ast.Name) else found


def _straight(block: list[ast.stmt], target: ast.expr | None) -> list[ast.stmt] | None:
    """Statements that assign what a block returns; None if it returns from within a loop.

    What follows a branch that returns goes into the other one.
    """
    found: list[ast.stmt] = []
    for place, statement in enumerate(block):
        if isinstance(statement, ast.Return):
            if target is not None and statement.value is not None:
                store = f"{ast.unparse(target)} = {ast.unparse(statement.value)}"
                found += ast.parse(store).body
            return found
        if not any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            found.append(statement)
            continue
        if not isinstance(statement, ast.If):
            return None
        rest = block[place + 1 :]
        returns = [_returns(branch) for branch in (statement.body, statement.orelse)]
        if not any(returns):
            return None
        branches = [
            _straight(branch if done else branch + rest, target)
            for branch, done in zip((statement.body, statement.orelse), returns, strict=True)
        ]
        if branches[0] is None or branches[1] is None:
            return None
        found.append(ast.If(statement.test, branches[0] or [ast.Pass()], branches[1]))
        return found
    return found


def _returns(block: list[ast.stmt]) -> bool:
    """Whether a block always returns."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, ast.Return)
