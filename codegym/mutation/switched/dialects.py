"""How each language holds a switch, and which of its functions cannot have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from codegym.syntax import descendants

#: What is asked for the number of the edit that is tried; its argument says which function asks.
_C_PRELUDE = b"""\
#ifndef CODEGYM_SWITCH
#define CODEGYM_SWITCH
extern char *cg_getenv(const char *) __asm__("getenv");
extern int cg_atoi(const char *) __asm__("atoi");
extern int cg_open(const char *, int, ...) __asm__("open");
extern int cg_dprintf(int, const char *, ...) __asm__("dprintf");
static unsigned char cg_seen[65536];
static __inline__ __attribute__((unused)) int cg_chosen(int function)
{
    static int chosen = -1, reach = -1;
    if (chosen < 0) {
        char *told = cg_getenv("CODEGYM_MUTANT"), *path = cg_getenv("CODEGYM_REACH");
        chosen = told ? cg_atoi(told) : 0;
        if (path) reach = cg_open(path, 02001);
    }
    if (reach >= 0 && !cg_seen[function]) {
        cg_seen[function] = 1;
        cg_dprintf(reach, "%d\\n", function);
    }
    return chosen;
}
#endif
"""
_RUST_POSTLUDE = b"""
#[doc(hidden)]
#[allow(dead_code)]
pub(crate) fn cg_chosen(function: u32) -> u32 {
    use ::std::sync::atomic::{AtomicU32, AtomicU8, Ordering::Relaxed};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    static REACH: AtomicU8 = AtomicU8::new(2);
    static SEEN: [AtomicU8; 8192] = {
        const NONE: AtomicU8 = AtomicU8::new(0);
        [NONE; 8192]
    };
    if CHOSEN.load(Relaxed) == u32::MAX {
        let told = ::std::env::var("CODEGYM_MUTANT").ok();
        REACH.store(::std::env::var_os("CODEGYM_REACH").is_some() as u8, Relaxed);
        CHOSEN.store(told.and_then(|one| one.parse().ok()).unwrap_or(0), Relaxed);
    }
    if REACH.load(Relaxed) == 1 {
        let bit = 1u8 << (function % 8);
        if SEEN[function as usize / 8].fetch_or(bit, Relaxed) & bit == 0 {
            use ::std::io::Write;
            let path = ::std::env::var_os("CODEGYM_REACH").unwrap_or_default();
            if let Ok(mut file) = ::std::fs::OpenOptions::new().append(true).open(path) {
                let _ = writeln!(file, "{}", function);
            }
        }
    }
    CHOSEN.load(Relaxed)
}
"""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one language does it.

    Attributes:
        functions: Node types of functions that may have a switch.
        fits: Whether one of them can.
        opening: What comes before the first variant, given the function's number.
        arm: What comes before a variant, given its edit's number.
        arm_end: What comes after it.
        default: What comes before the function as it is.
        closing: What comes after that.
        prelude: What each file begins with.
    """

    functions: frozenset[str]
    fits: Callable[[Node], bool]
    opening: str
    arm: str
    arm_end: str
    default: str
    closing: str
    prelude: bytes = b""


def _c_fits(function: Node) -> bool:
    """Labels are the whole function's, so no two variants can have them."""
    body = function.child_by_field_name("body")
    return body is not None and next(descendants(body, "labeled_statement"), None) is None


def _rust_fits(function: Node) -> bool:
    """What runs while it is compiled can ask nobody; of a type with no name, there is but one."""
    returned = function.child_by_field_name("return_type")
    if returned is not None and next(_types(returned), None) is not None:
        return False
    modifiers = next((one for one in function.children if one.type == "function_modifiers"), None)
    return modifiers is None or b"const" not in (modifiers.text or b"").split()


def _types(node: Node) -> Iterator[Node]:
    """``impl Trait``, itself or within another type."""
    if node.type == "abstract_type":
        yield node
    yield from descendants(node, "abstract_type")


def _script_fits(function: Node) -> bool:
    """One with a directive, such as "use strict", would be another without it at its beginning."""
    body = function.child_by_field_name("body")
    first = body.named_children[0] if body is not None and body.named_children else None
    if first is None or first.type != "expression_statement":
        return True
    return not first.named_children or first.named_children[0].type != "string"


DIALECTS: Mapping[str, Dialect] = {
    "c": Dialect(
        functions=frozenset({"function_definition"}),
        fits=_c_fits,
        opening="{ switch (cg_chosen(%d)) {\n",
        arm="case %d:\n",
        arm_end="\nbreak;\n",
        default="default:\n",
        closing="\nbreak;\n} }",
        prelude=_C_PRELUDE,
    ),
    "rust": Dialect(
        functions=frozenset({"function_item"}),
        fits=_rust_fits,
        opening="{ match crate::cg_chosen(%d) {\n",
        arm="%d =>\n",
        arm_end="\n",
        default="_ =>\n",
        closing="\n} }",
    ),
    "javascript": Dialect(
        functions=frozenset({
            "function_declaration", "function_expression", "generator_function",
            "generator_function_declaration", "method_definition", "arrow_function",
        }),
        fits=_script_fits,
        opening="{ switch (globalThis.cg_chosen(%d)) {\n",
        arm="case %d:\n",
        arm_end="\nbreak;\n",
        default="default:\n",
        closing="\nbreak;\n} }",
    ),
}  # fmt: skip


def with_roots(files: Mapping[str, bytes], tree: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files of Rust with what they ask, which each crate has in the file that it begins with.

    Args:
        files: Those that hold switches.
        tree: All Rust files of the repository that are no tests, as they are.
    """
    found = dict(files)
    for path, data in tree.items():
        folder, _, name = path.rpartition("/")
        top = folder.rpartition("/")[2]
        if (top == "src" and name in ("lib.rs", "main.rs")) or folder.endswith("src/bin"):
            found[path] = found.get(path, data) + _RUST_POSTLUDE
    return found
