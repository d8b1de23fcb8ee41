"""How a reading reports errors: its own and those of Python and NumPy, with their place in the user's source."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import NoReturn

from ...errors import CutError, Diagnostic, UnsupportedError, UntracedError, place_told, tell_place
from ..text.libraries import is_own_file
from ..text.source import is_library_file
from .values import Frame


class Telling:
    """The part of a Context that makes errors, told in the frame that is being read."""

    frame: Frame
    transforms = False  # whether this is read to be transformed: CPython can run no part of it

    @property
    def is_ours(self) -> bool:
        """Whether what is being read is source of this package: what is wrong in it is told at the user's call."""
        return self.frame.fixed or is_own_file(self.frame.source.file)

    def located(self, error: UntracedError, node: ast.AST) -> UntracedError:
        """The error with the span of `node`, unless it has one or the frame keeps its caller's spans."""
        if not error.sites and not self.frame.fixed:
            error.sites = (node,)
        if error.diagnostic.span.line or self.is_ours:
            return error
        source = self.frame.source
        span = source.span(node)
        error.say(replace(error.diagnostic, span=span, source_lines=source.lines_of(node)))
        return error

    def tell(self, error: Exception, node: ast.AST) -> None:
        """Let an exception of Python itself say that it comes from `node`, or from what is inside it, if known."""
        if not self.is_ours:
            source = self.frame.source
            tell_place(error, source.span(node), own_words=True, source_lines=source.lines_of(node))

    def passed(self, error: Exception, called: Frame, call: ast.AST) -> Exception:
        """An exception in the function `called`, which says that it came up through the call `call`.

        What is wrong in a library is told at the user's call of it.
        """
        if isinstance(error, UntracedError):
            error.sites = () if self.frame.fixed else (call, *error.sites)
        source = self.frame.source
        span = source.span(call)
        if self.frame.fixed or called.fixed or not span.line or span.file.startswith("<untraced"):
            return error
        if not isinstance(error, UntracedError):
            if place_told(error) not in (None, span):
                error.add_note(f"  called from {span}: {span.text}")
        elif is_library_file(called.source.file) and not is_library_file(source.file):
            return self._library_refused(error, called.name, call)
        elif error.diagnostic.span.line:
            error.say(replace(error.diagnostic, calls=(*error.diagnostic.calls, span)))
        return error

    def _library_refused(self, error: UntracedError, name: str, call: ast.AST) -> UntracedError:
        """The refusal of something in a library's source, told at the user's call."""
        source, found = self.frame.source, error.diagnostic
        what, why = f"{name} cannot be compiled: {found.what}", found.why
        if self.transforms:
            what = f"{name} cannot be differentiated or batched"
            why = f"no rule for it is known here, and its source cannot be read: {found.what}"
        instead = "call it outside the function and pass what it gives"
        error.say(Diagnostic(what, source.span(call), why, instead, source.lines_of(call)))
        if not error.refuses or isinstance(error, CutError):
            return error
        cut = CutError(error.diagnostic)  # CPython can call the library's function
        cut.sites = error.sites
        return cut

    def unprepared(self, error: UntracedError, name: str, file: str, call: ast.AST) -> UntracedError:
        """A function that the fence refuses: a library's is told at the user's call of it."""
        error.sites = () if self.frame.fixed else (call, *error.sites)
        user = not self.frame.fixed and not is_library_file(self.frame.source.file)
        return self._library_refused(error, name, call) if user and is_library_file(file) else error

    def refuse(self, node: ast.AST, what: str, why: str = "", instead: str = "") -> NoReturn:
        raise self.error(UnsupportedError, node, what, why, instead)

    def cut(self, node: ast.AST, what: str, why: str = "", instead: str = "") -> NoReturn:
        """Refuse what only CPython can do; `accelerate` cuts the function here."""
        raise self.error(CutError, node, what, why, instead)

    def error(
        self, cls: type[UntracedError], node: ast.AST, what: str, why: str = "", instead: str = ""
    ) -> UntracedError:
        if self.is_ours:
            return self.located(cls(Diagnostic(what, why=why, instead=instead)), node)
        return self.located(cls(self.frame.source.diagnostic(node, what, why, instead)), node)
