"""Loops as C++ functions for the host, called from inside XLA's programs: nanoseconds a step, arrays updated in place.

    for i in range(1, n):               for (long long i = 1; i < 1000; i++) {
        y[i] = 0.5 * y[i - 1] + x[i]        y[i] = 0.5 * y[i - 1] + x[i];
                                        }

A loop comes with all that is inside it, as a group of kind "loops": `Fused((y,), (y0, x), body, "loops")`, whose
body is that one statement. What the loop carries stands in its results' memory, which XLA fills before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...translator.errors import RaisedError
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    For,
    Fused,
    If,
    Raise,
    Range,
    Statement,
    Var,
    While,
    free_variables,
    walk,
)
from ...translator.records import dataclass
from ...translator.rewrite import Substitution, copy_statement, substitute
from ..digest import digest
from ..lifetimes import Lifetimes
from ..source.dialects import bare
from .checks import Checks, Failure
from .cuts import place_of_cut
from .host import COMPLEX, PRELUDE, Scalar
from .host_draws import DRAWING
from .interrupts import BEGIN, LISTENING, LONG, POLL
from .sweeps import Sweeps, flags
from .values import Array, Buffer, Lazy, NotNative, Scope, Stored

INT = np.dtype(np.int64)
STACK = 1 << 14
"""Bytes of arrays that a loop makes for itself on the stack; more than that are allocated at each call."""
ON_ADDRESSES = "_on_addresses"
"""What the name of a loop's handler ends in where Python calls it: with the addresses of its arguments, what the loop
carries in place. It returns 0, a failure, INTERRUPTED or NO_MEMORY.
"""
NO_MEMORY = -2


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """C++ source of one handler of XLA's. Its arguments: what the loop carries, then what else it reads; its results:
    what it carries, each array in the memory of its argument, then the failure: 0, or `index * 65536 + number`.
    """

    name: str
    source: str
    failures: tuple[Failure, ...] = ()
    listens: bool = False
    draws: bool = False
    allocates: bool = False


def prelude(loops: Sequence[NativeLoop]) -> str:
    """The definitions in front of the sources of loops."""
    complex_numbers = COMPLEX if any("complex_t<" in loop.source for loop in loops) else ""
    listening = LISTENING if any(loop.listens for loop in loops) else ""
    drawing = DRAWING if any(loop.draws for loop in loops) else ""
    return PRELUDE + complex_numbers + _ANSWER + listening + drawing


def write_loop(
    group: Fused, checks: Checks, *, guarded: bool = False, in_front: Mapping[Var, int] | None = None
) -> NativeLoop:
    """The source of a group of kind "loops". Raises NotNative where something in it stays XLA's.

    With `guarded` there is one argument more, the failure so far: where it is not 0 the loop does not begin. Arrays
    that the loop does not carry may have elements `in_front` of them, which do not count.
    """
    return LoopWriter(group, loop_of(group), checks, in_front).run(guarded)


def as_group(s: For | While, kind: str, *, fresh: bool = True) -> Fused:
    """The loop with all that is inside it as a group: what it carries are the first of its parameters.

    Without `fresh` it is over the variables around it, of which more may be known.
    """
    carried = s.body.params[1:] if isinstance(s, For) else s.body.params
    inits = tuple(Var(p.hint, p.aval) for p in carried)
    loop = replace(s, inits=inits)
    others = tuple(v for v in free_variables(Block((), (loop,), ())) if v not in inits)
    params, renamed = others, Substitution()
    if fresh:
        params = tuple(Var(v.hint, v.aval) for v in others)
        renamed.update(zip(others, params, strict=True))
        copied = copy_statement(loop, renamed)
        assert isinstance(copied, For | While)
        loop = copied
    body = Block((*inits, *params), (loop,), tuple(substitute(t, renamed) for t in s.targets))
    return Fused(s.targets, (*s.inits, *others), body, kind, s.span)


def loop_of(group: Fused) -> For | While:
    loop = group.body.statements[-1]
    assert isinstance(loop, For | While)
    return loop


def arguments_of(group: Fused) -> tuple[list[Var], list[Var]]:
    """The parameters of a group that its loop carries, and the others."""
    carried = [a for a in loop_of(group).inits if isinstance(a, Var)]
    return carried, [p for p in group.body.params if p not in carried]


def _at_turn(start: str, distance: str, turns: str, turn: str, reverse: bool) -> str:
    """The index of a range at a turn."""
    last = str(int(turns) - 1) if turns.isdigit() else f"{turns} - 1"
    place = f"({last} - {turn})" if reverse else turn
    if distance != "1":
        place += f" * ({distance})"
    return bare(place) if start == "0" else f"{start} + {place}"


class LoopWriter(Sweeps):
    cutting = True
    """Whether loops are cut where that makes vectors of them (see `loops/cuts`)."""

    def __init__(
        self, group: Fused, loop: For | While, checks: Checks, in_front: Mapping[Var, int] | None = None
    ) -> None:
        super().__init__(Lifetimes(loop), checks)
        self.group, self.loop, self.in_front = group, loop, in_front or {}
        self.flag = flags(Block((), (loop,), ())) if self.sweeping else None
        self.memories: dict[Buffer, str] = {}  # of what the loop carries: where XLA looks for its results
        self.listens = False

    def run(self, guarded: bool) -> NativeLoop:
        carried, others = arguments_of(self.group)
        given: list[str] = []
        for p in carried:
            kind = self.type_name(p.aval.dtype)
            if p.aval.shape:
                buffer = Buffer(self.names.fresh(p.hint), p.aval.dtype, p.aval.size, users={p})
                self.env[p] = Stored(buffer, p.aval.shape)
                home = self.names.fresh(f"{buffer.name}_memory")
                self.memories[buffer] = home
                given.append(f"{kind} *const __restrict {home}")
            else:
                name = self.names.fresh(f"{p.hint}_result")
                self.env[p] = Scalar(f"*{name}", p.aval.dtype)
                given.append(f"{kind} *const __restrict {name}")
        for p in others:
            kind, name = self.type_name(p.aval.dtype), self.names.fresh(p.hint)
            if p.aval.shape:
                given.append(f"const {kind} *const __restrict {name}")
                given_buffer = Buffer(name, p.aval.dtype, p.aval.size, owned=False, users={p})
                self.env[p] = Stored(given_buffer, p.aval.shape)
            else:
                given.append(f"const {kind} {name}")
                self.env[p] = Scalar(name, p.aval.dtype)
        self.statement(self.loop)
        self.finish(carried)
        body, self.lines = self.lines, []
        for buffer, home in self.memories.items():
            fixed = "" if buffer in self.moving else "const __restrict "
            self.line(f"{self.type_name(buffer.dtype)} *{fixed}{buffer.name} = {home};")
        size = self.memory()
        head = f"static long long run({', '.join([*given, 'char *const memory'])}) {{"
        begin = [f"    {BEGIN}"] if self.listens else []
        run = "\n".join([head, *begin, *self.lines, *body, "    return 0;", "}"])
        tables = "".join(f"{line}\n" for line in self.tables)
        text = f"namespace HANDLER_body {{\n{tables}{run}\n}}\n{self.entry(carried, others, size, guarded)}"
        name = "".join(c for c in carried[0].hint if c.isascii() and (c.isalnum() or c == "_"))
        name = f"untraced_{name}_{digest(PRELUDE + text)}"
        source, failures = text.replace("HANDLER", name), tuple(self.failures)
        return NativeLoop(name, source, failures, self.listens, self.draws, allocates=size > STACK)

    def memory(self) -> int:
        """Pointers to the arrays that the loop makes for itself; how many bytes these are."""
        size = 0
        for b in self.temporaries:
            fixed = "" if b in self.moving else "const __restrict "
            kind = self.type_name(b.kept_as)
            self.line(f"{kind} *{fixed}{b.name} = ({kind} *)(memory + {size});")
            size += -(-b.count * b.kept_as.itemsize // 64) * 64
        return size

    def finish(self, carried: Sequence[Var]) -> None:
        """Copy the loop's results to where XLA expects them."""
        moved: list[tuple[Buffer, Stored]] = []
        for p, target in zip(carried, self.loop.targets, strict=True):
            found, home = self.env[target], self.env[p]
            if isinstance(found, Scalar) and isinstance(home, Scalar):
                self.line(f"{home.text} = {found.text};")
                continue
            assert isinstance(found, Stored) and isinstance(home, Stored)
            changed = found.buffer is not home.buffer or found.buffer in self.moving
            if changed and 0 not in found.shape:  # of nothing there is no memory
                moved.append((home.buffer, found))
        if len(moved) > 1:  # their memory may have changed places
            moved = [(home, self.copied(found)) for home, found in moved]
        for target_buffer, made in moved:
            memory, name = self.memories[target_buffer], made.buffer.name
            if made.buffer.kept_as != target_buffer.kept_as:
                self.fill(Stored(Buffer(memory, target_buffer.dtype, target_buffer.count), made.shape), made)
                continue
            copy = f"{self.copying}({memory}, {name}, {target_buffer.count} * sizeof *{memory});"
            self.line(f"if ({name} != {memory}) {copy}")

    def entry(self, carried: Sequence[Var], others: Sequence[Var], size: int, guarded: bool) -> str:
        """The two functions that others call: one with addresses, of what is carried and of the rest, and XLA's."""
        kinds = [self.type_name(p.aval.dtype) for p in (*carried, *others)]
        given = [f"({kind} *)at[{k}]" for k, kind in enumerate(kinds[: len(carried)])]
        for k, p in enumerate(others, len(carried)):
            given.append(f"{'' if p.aval.shape else '*'}(const {kinds[k]} *)at[{k}]")
        called = f"HANDLER_body::run({', '.join([*given, 'memory'])})"
        on_heap = size > STACK
        lines = [
            f'extern "C" long long HANDLER{ON_ADDRESSES}(void *const *at) {{',
            f"    char *memory = (char *)__builtin_aligned_alloc(64, {size});"
            if on_heap
            else f"    alignas(64) char memory[{max(size, 64)}];",
            *(["    if (!memory) return NO_MEMORY;"] if on_heap else []),
            "    Arithmetic numpys;",
            *(["    Listening listening;"] if self.listens else []),
            f"    const long long failed = {called};",
            *(["    __builtin_free(memory);"] if on_heap else []),
            "    return failed;",
            "}",
        ]
        return "\n".join([*lines, *self._handler(carried, others, kinds, guarded, on_heap), ""])

    def _handler(
        self, carried: Sequence[Var], others: Sequence[Var], kinds: Sequence[str], guarded: bool, on_heap: bool
    ) -> list[str]:
        lines = [
            'extern "C" XLA_FFI_Error *HANDLER(XLA_FFI_CallFrame *frame) {',
            "    if (answered(frame)) return nullptr;",
        ]
        flag = f"*(long long *)result(frame, {len(carried)})"
        if guarded:
            begin = f"if (*(const long long *)argument(frame, {len(carried) + len(others)}))"
            lines.append(f"    {begin} {{ {f'{flag} = 0; ' if self.failures else ''}return nullptr; }}")
        for k, p in enumerate(carried):
            if bytes_ := p.aval.nbytes:
                lines.append(f"    if (result(frame, {k}) != argument(frame, {k}))")
                lines.append(f"        __builtin_memcpy(result(frame, {k}), argument(frame, {k}), {bytes_});")
        at = [f"result(frame, {k})" for k in range(len(carried))]
        for k, p in enumerate(others, len(carried)):
            skipped = self.in_front.get(p)
            at.append(f"({kinds[k]} *)argument(frame, {k}) + {skipped}" if skipped else f"argument(frame, {k})")
        kept = "const long long failed = " if self.failures or self.listens or on_heap else ""
        return [
            *lines,
            f"    void *const at[] = {{{', '.join(at)}}};",
            f"    {kept}HANDLER{ON_ADDRESSES}(at);",
            *(["    if (failed == NO_MEMORY) return no_memory(frame);"] if on_heap else []),
            *(["    if (failed == INTERRUPTED) return was_interrupted(frame);"] if self.listens else []),
            *([f"    {flag} = failed;"] if self.failures else []),
            "    return nullptr;",
            "}",
        ]

    # ---- control flow ------------------------------------------------------------------------------

    def statement(self, s: Statement) -> None:
        self.tell(s.span)
        match s:
            case Apply():
                self.apply(s)
            case If():
                self.branches(s)
            case For():
                self.for_loop(s)
            case While():
                self.while_loop(s)
            case Raise():
                message = f"{s.error.error.__name__}, which CPython was to raise"
                self.fail_where(self.scalar(s.condition).text, "0", RaisedError, message, s.span)
            case Fused():
                self.block(s.body)
            case _:
                raise NotNative(type(s).__name__)

    def for_loop(self, s: For) -> None:
        self._must_know(s)
        self.settle(s)
        homes = self.carry(s, s.body.params[1:])
        scope = self.scope()
        index, r, by = s.body.params[0], s.range, _static(s.range.step)
        if by is not None and by > 0 and not r.reverse:
            i = self.names.fresh(index.hint)
            step = f"{i}++" if by == 1 else f"{i} += {by}"
            start, stop, place = self.place(r.start), self.place(r.stop), i
            head = f"for (long long {i} = {start}; {i} < {stop}; {step})"
            if self.cutting and by == 1 and (cut := place_of_cut(s)) is not None:
                head = self._in_three(i, start, stop, self.place(cut))
        else:
            start, distance, turns = self.plan(r)
            turn = self.names.fresh("turn")
            head = f"for (long long {turn} = 0; {turn} < {turns}; {turn}++)"
            place = _at_turn(start, distance, turns, turn, r.reverse)
        with self.braces(head):
            if _is_long(s):
                self.poll()
            self.env[index] = Scalar(place, INT) if place.isidentifier() else self.declare(index.hint, place, INT)
            self.expect(s, homes)
            self.block(s.body)
            self.turn(s, s.body.results, homes)
        self.leave(scope, s.targets, homes)

    def _in_three(self, i: str, start: str, stop: str, cut: str) -> str:
        """The head of a loop in three pieces, around one turn (see `loops/cuts`)."""
        ends, piece = self.names.fresh("ends"), self.names.fresh("piece")
        first = self.declare("cut", f"{cut} < {start} ? {start} : {cut} < {stop} ? {cut} : {stop}", INT).text
        self.line(f"const long long {ends}[] = {{{start}, {first}, {first} + ({first} < {stop}), {stop}}};")
        pieces = f"for (int {piece} = 0; {piece} < 3; {piece}++)"
        return f"{pieces} for (long long {i} = {ends}[{piece}]; {i} < {ends}[{piece} + 1]; {i}++)"

    def poll(self) -> None:
        """Give up where Ctrl-C was pressed."""
        self.listens = True
        self.line(POLL)

    def place(self, a: Atom) -> str:
        """An index, or a bound of one."""
        return self.scalar(a).as_type(INT) if isinstance(a, Var) else str(int(a.value))

    def plan(self, r: Range) -> tuple[str, str, str]:
        """Start, step and number of turns."""
        start, stop, step = (self.place(a) for a in (r.start, r.stop, r.step))
        known = r.static()
        if known is not None:
            return start, step, str(len(known))
        by = _static(r.step)
        if by is None:
            if self.checks.enabled and 0 in self.checks.interval(r.step):
                message = "range() arg 3 must not be zero"
                self.fail_where(f"{step} == 0", step, ValueError, message, self._told or self.loop.span)
            gap = f"{step} > 0 ? {stop} - {start} + {step} - 1 : {stop} - {start} + {step} + 1"
            turns = self.declare("turns", f"{step} == 0 ? 0 : ({gap}) / {step}", INT).text
        elif by == 1:
            turns = self.declare("turns", f"{stop} - {start}", INT).text
        else:
            turns = self.declare("turns", f"({stop} - {start} + ({by - (1 if by > 0 else -1)})) / ({by})", INT).text
        return start, step, turns

    def while_loop(self, s: While) -> None:
        self._must_know(s)
        self.settle(s)
        homes = self.carry(s, s.body.params)
        for p, q in zip(s.condition.params, s.body.params, strict=True):
            self.env[p] = found = self.env[q]
            if isinstance(found, Stored):
                found.buffer.users.add(p)
        scope = self.scope()
        with self.braces("for (;;)"):
            self.poll()
            self.block(s.condition)
            self.line(f"if (!{self.scalar(s.condition.results[0]).text}) break;")
            self.back_to(scope)
            self.expect(s, homes)
            self.block(s.body)
            self.turn(s, s.body.results, homes)
        self.leave(scope, s.targets, homes)

    def carry(self, s: For | While, params: Sequence[Var]) -> list[Scalar | Stored]:
        """Choose where carried values lie: an array that nobody else reads stays where it is."""
        live = self.lifetimes.behind(s) | self.read_inside(s)
        homes: list[Scalar | Stored] = []
        taken: list[Buffer] = []
        found = [self.value(a) for a in s.inits]
        for p, x in zip(params, found, strict=True):
            if not p.aval.shape:
                number = x if isinstance(x, Scalar) else self.element(x, ())
                made: Scalar | Stored = self.declare(p.hint, number.as_type(p.aval.dtype), p.aval.dtype, fixed=False)
            elif isinstance(x, Stored) and self.dies(x.buffer, live) and x.buffer not in taken:
                made = Stored(x.buffer, p.aval.shape)
                taken.append(x.buffer)
            else:
                made = self.fresh(p.hint, p.aval.dtype, p.aval.shape)
                self.fill(made, self._full(x, p.aval))
            homes.append(made)
        for p, home in zip(params, homes, strict=True):
            self.env[p] = home
            if isinstance(home, Stored):
                home.buffer.users.add(p)
        return homes

    def expect(self, s: For | While, homes: Sequence[Scalar | Stored]) -> None:
        """Note where results of the loop's body are best computed."""
        results = [self.lifetimes.root(r) for r in s.body.results]
        for r, home in zip(results, homes, strict=True):
            if isinstance(r, Var) and isinstance(home, Stored) and results.count(r) == 1:
                self.destinations[r] = home

    def _full(self, x: Scalar | Array, like: Stored | Aval) -> Array:
        if isinstance(x, Scalar):
            return Lazy(like.shape, like.dtype, lambda _: x, frozenset())
        return x

    def turn(self, s: For | While, results: Sequence[Atom], homes: Sequence[Scalar | Stored]) -> None:
        """The carried values of the next turn take the places of this turn's."""
        live = self.lifetimes.behind(s) | self.read_inside(s)
        names = {h.text for h in homes if isinstance(h, Scalar)}
        arrays: list[tuple[Stored, Stored]] = []
        numbers: list[tuple[str, str]] = []
        for r, home in zip(results, homes, strict=True):
            x = self.value(r)
            if isinstance(home, Stored):
                arrays.append((home, self.stored(self._full(x, home), home.buffer.name)))
                continue
            number = x if isinstance(x, Scalar) else self.element(x, ())
            text = number.as_type(home.dtype)
            if text in names and text != home.text:
                text = self.declare(text, text, home.dtype).text
            if text != home.text:
                numbers.append((home.text, text))
        self.assign([a for a, _ in arrays], [b for _, b in arrays], live)
        for name, text in numbers:
            self.line(f"{name} = {text};")

    def leave(self, scope: Scope, targets: Sequence[Var], homes: Sequence[Scalar | Stored]) -> None:
        """After a loop: forget what its body has made, and bind its results."""
        self.back_to(scope)
        for t, home in zip(targets, homes, strict=True):
            self.bind(t, home)

    def branches(self, s: If) -> None:
        condition = self.scalar(s.condition).text
        if not self._decomposing:
            self._must_know(s)
            self.settle(s)
        live = self.lifetimes.behind(s) if self.lifetimes.knows(s) else frozenset()
        names = {t: self.names.fresh(t.hint) for t in s.targets if not t.aval.shape}
        for t, name in names.items():
            self.line(f"{self.type_name(t.aval.dtype)} {name};")
        scope, before = self.scope(), self.lines
        sides: list[list[str]] = []
        found: list[list[Stored]] = []
        self._depth += 1
        for block in (s.then, s.orelse):
            self.back_to(scope)
            self.lines = []
            self.block(block)
            arrays = []
            for t, r in zip(s.targets, block.results, strict=True):
                x = self.value(r)
                if t in names:
                    number = x if isinstance(x, Scalar) else self.element(x, ())
                    self.line(f"{names[t]} = {number.as_type(t.aval.dtype)};")
                else:
                    arrays.append(self.stored(self._full(x, t.aval), t.hint))
            sides.append(self.lines)
            found.append(arrays)
        self.back_to(scope)
        homes = self._homes(found, live)
        for k, arrays in enumerate(found):
            self.lines = sides[k]
            self.assign(homes, arrays, live)
        self._depth -= 1
        self.lines = before
        self.line(f"if ({condition}) {{")
        self.lines += sides[0]
        if sides[1]:
            self.line("} else {")
            self.lines += sides[1]
        self.line("}")
        stored = iter(homes)
        for t in s.targets:
            self.bind(t, Scalar(names[t], t.aval.dtype) if t in names else next(stored))

    def _homes(self, found: Sequence[Sequence[Stored]], live: frozenset[Var]) -> list[Stored]:
        """The memory of arrays that two branches give: that of one of the two, if nobody else has it."""
        homes: list[Stored] = []
        for pair in zip(*found, strict=True):
            same = pair[0].buffer is pair[1].buffer
            free = [
                x
                for x in reversed(pair)
                if (same or self.dies(x.buffer, live)) and all(x.buffer is not h.buffer for h in homes)
            ]
            homes.append(free[0] if free else self.fresh(pair[0].buffer.name, pair[0].dtype, pair[0].shape))
        return homes

    def _must_know(self, s: Statement) -> None:
        if not self.lifetimes.knows(s):
            raise NotNative("a loop in the definition of an operation")


def _is_long(s: For) -> bool:
    """Whether a loop around others may take longer than somebody wants to wait. (Innermost ones are to be vectors.)"""
    turns = s.range.static()
    return (turns is None or len(turns) >= LONG) and any(isinstance(t, For | While) for t in walk(s.body))


def _static(a: Atom) -> int | None:
    return None if isinstance(a, Var) else int(a.value)


_ANSWER = """
#if defined(__AVX512F__)
#define IN_REGISTER(x) __asm__("" : "+v"(x))
#elif defined(__SSE__)
#define IN_REGISTER(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define IN_REGISTER(x) __asm__("" : "+w"(x))
#else
#define IN_REGISTER(x)
#endif
#if defined(__clang__)
#define EACH_TURN_APART _Pragma("clang loop vectorize(assume_safety)")
#define FUSED_PRODUCTS
#define FUSED_PRODUCTS_INSIDE _Pragma("clang fp contract(fast)")
#else
#define EACH_TURN_APART _Pragma("GCC ivdep")
#define FUSED_PRODUCTS __attribute__((optimize("fp-contract=fast")))
#define FUSED_PRODUCTS_INSIDE
#endif
static inline void *argument(XLA_FFI_CallFrame *frame, int k) { return ((XLA_FFI_Buffer *)frame->args.args[k])->data; }
static inline void *result(XLA_FFI_CallFrame *frame, int k) { return ((XLA_FFI_Buffer *)frame->rets.rets[k])->data; }

// XLA's first question is for which version of the interface the handler is made.
static bool answered(XLA_FFI_CallFrame *frame) {
    for (auto *e = frame->extension_start; e; e = e->next)
        if (e->type == XLA_FFI_Extension_Metadata) {
            auto *metadata = ((XLA_FFI_Metadata_Extension *)e)->metadata;
            metadata->api_version.major_version = XLA_FFI_API_MAJOR;
            metadata->api_version.minor_version = XLA_FFI_API_MINOR;
            metadata->traits = 0;
            return true;
        }
    return false;
}

constexpr long long NO_MEMORY = -2;
static XLA_FFI_Error *no_memory(XLA_FFI_CallFrame *frame) {
    XLA_FFI_Error_Create_Args e = {sizeof e, nullptr, "no memory for a loop",
                                   XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
    return frame->api->XLA_FFI_Error_Create(&e);
}

// XLA's threads take subnormal numbers for zero; NumPy does not.
struct Arithmetic {
#if defined(__SSE__)
    unsigned saved = __builtin_ia32_stmxcsr();
    Arithmetic() { __builtin_ia32_ldmxcsr(0x1f80); }
    ~Arithmetic() { __builtin_ia32_ldmxcsr(saved); }
#elif defined(__aarch64__)
    unsigned long saved;
    Arithmetic() { asm volatile("mrs %0, fpcr" : "=r"(saved)); asm volatile("msr fpcr, %0" : : "r"(0ul)); }
    ~Arithmetic() { asm volatile("msr fpcr, %0" : : "r"(saved)); }
#endif
};
"""
