"""The languages that can be parsed, and what their grammars call things."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from tree_sitter import Language

from codegym.errors import NotFoundError, UnavailableError


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a language's grammar calls the nodes that all languages have.

    Attributes:
        module: Package that has the grammar.
        suffixes: How names of its files end.
        functions: Node types of functions, with a field ``name`` where they have one.
        classes: Node types of classes, likewise.
        blocks: Node types whose children are statements.
        inert: Node types of what does nothing when it runs, or only names things (types, imports).
        tables: The package's function that has the parser's tables.
    """

    module: str
    suffixes: tuple[str, ...]
    functions: frozenset[str]
    classes: frozenset[str]
    blocks: frozenset[str]
    inert: frozenset[str]
    tables: str = "language"


_SCRIPT = Grammar(
    module="tree_sitter_javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    functions=frozenset({
        "function_declaration", "function_expression", "generator_function",
        "generator_function_declaration", "method_definition", "arrow_function",
    }),
    classes=frozenset({"class_declaration", "class"}),
    blocks=frozenset({"program", "statement_block", "switch_case", "switch_default",
                      "class_static_block"}),
    inert=frozenset({"import_statement", "decorator", "hash_bang_line"}),
)  # fmt: skip

GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        module="tree_sitter_python",
        suffixes=(".py",),
        functions=frozenset({"function_definition"}),
        classes=frozenset({"class_definition"}),
        blocks=frozenset({"module", "block"}),
        inert=frozenset({
            "type", "import_statement", "import_from_statement", "future_import_statement",
            "type_alias_statement", "global_statement", "nonlocal_statement",
        }),
    ),
    "javascript": _SCRIPT,
    "typescript": replace(
        _SCRIPT,
        module="tree_sitter_typescript",
        tables="language_typescript",
        suffixes=(".ts", ".mts", ".cts"),
        classes=_SCRIPT.classes | {"abstract_class_declaration", "internal_module"},
        inert=_SCRIPT.inert | {
            "type_annotation", "type_arguments", "type_parameters", "type_alias_declaration",
            "interface_declaration", "ambient_declaration", "implements_clause",
            "function_signature", "method_signature", "abstract_method_signature",
            "asserts_annotation", "type_predicate_annotation", "import_alias", "literal_type",
        },
    ),
    "go": Grammar(
        module="tree_sitter_go",
        suffixes=(".go",),
        functions=frozenset({"function_declaration", "method_declaration", "func_literal"}),
        classes=frozenset({"type_spec"}),
        blocks=frozenset({"source_file", "statement_list", "block"}),
        inert=frozenset({"import_declaration", "package_clause", "type_arguments"}),
    ),
    "rust": Grammar(
        module="tree_sitter_rust",
        suffixes=(".rs",),
        functions=frozenset({"function_item", "closure_expression"}),
        classes=frozenset({"impl_item", "trait_item", "mod_item", "struct_item", "enum_item"}),
        blocks=frozenset({"source_file", "block", "declaration_list"}),
        inert=frozenset({
            "use_declaration", "attribute_item", "inner_attribute_item", "extern_crate_declaration",
            "type_item", "type_arguments", "type_parameters", "array_type", "where_clause",
            "visibility_modifier", "macro_definition",
        }),
    ),
    "java": Grammar(
        module="tree_sitter_java",
        suffixes=(".java",),
        functions=frozenset({"method_declaration", "constructor_declaration", "lambda_expression",
                             "compact_constructor_declaration"}),
        classes=frozenset({"class_declaration", "interface_declaration", "enum_declaration",
                           "record_declaration"}),
        blocks=frozenset({"program", "block", "constructor_body", "switch_block_statement_group"}),
        inert=frozenset({"import_declaration", "package_declaration", "annotation",
                         "marker_annotation", "type_arguments", "type_parameters",
                         "annotation_type_declaration", "module_declaration"}),
    ),
    "c": Grammar(
        module="tree_sitter_c",
        suffixes=(".c", ".h"),
        functions=frozenset({"function_definition"}),
        classes=frozenset(),
        blocks=frozenset({"translation_unit", "compound_statement", "case_statement"}),
        inert=frozenset({"preproc_include", "preproc_def", "preproc_function_def", "preproc_call",
                         "type_definition", "attribute_specifier", "attribute_declaration",
                         "gnu_asm_expression", "bitfield_clause", "enumerator_list"}),
    ),
}  # fmt: skip


def grammar(name: str) -> Grammar:
    """A language's grammar.

    Raises:
        NotFoundError: There is none of that name.
    """
    if name not in GRAMMARS:
        raise NotFoundError("language", name, GRAMMARS, f"there are: {', '.join(GRAMMARS)}")
    return GRAMMARS[name]


def language_of(path: str) -> str | None:
    """The language that a file's name tells, or None."""
    for name, one in GRAMMARS.items():
        if path.endswith(one.suffixes):
            return name
    return None


@cache
def load_language(name: str) -> Language:
    """Load a language's parser tables.

    Raises:
        NotFoundError: There is no such language.
        UnavailableError: Its package is not installed.
    """
    known = grammar(name)
    try:
        module = importlib.import_module(known.module)
    except ImportError as error:
        raise UnavailableError(
            f"{name} cannot be parsed: {known.module.replace('_', '-')} is not installed",
            "Install it: pip install 'codegym[langs]'",
        ) from error
    return Language(getattr(module, known.tables)())
