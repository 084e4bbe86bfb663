"""The languages' own tools, asked whether a text is a program, and if not, why."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

Verdict = Literal["fine", "types", "syntax"]

_TYPESCRIPT = """
const ts = require(process.argv[1]);
const files = process.argv.slice(2);
const options = { noEmit: true, strict: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022,
                  types: [], experimentalDecorators: false };
const program = ts.createProgram(files, options);
for (const file of files) {
  const source = program.getSourceFile(file);
  const bad = program.getSyntacticDiagnostics(source).length;
  const said = bad ? "syntax" : program.getSemanticDiagnostics(source).length ? "types" : "fine";
  console.log(JSON.stringify([file, said]));
}
"""
_JAVA = """
import java.nio.file.*;
import java.util.*;
import javax.tools.*;
import com.sun.source.util.JavacTask;

public class Check {
    public static void main(String[] files) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        List<String> options = List.of("-proc:none", "-Xlint:none");
        for (String file : files) {
            var said = new DiagnosticCollector<JavaFileObject>();
            Iterable<? extends JavaFileObject> units = manager.getJavaFileObjects(file);
            var made = compiler.getTask(null, manager, said, options, null, units);
            JavacTask task = (JavacTask) made;
            task.parse();
            boolean syntax = bad(said);
            if (!syntax) task.analyze();
            System.out.println(file + "\\t" + (syntax ? "syntax" : bad(said) ? "types" : "fine"));
        }
    }

    static boolean bad(DiagnosticCollector<JavaFileObject> said) {
        return said.getDiagnostics().stream().anyMatch(d -> d.getKind() == Diagnostic.Kind.ERROR);
    }
}
"""
#: How gcc says that it could not read on.
_C_SYNTAX = re.compile(
    r"error: (expected|stray|unterminated|missing terminating|.*(before|at end of input)\b"
    r"|.*(not within|label at end|'else' without|duplicate case))"
)


def _run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )


def python(files: Sequence[Path]) -> dict[Path, Verdict]:
    """Compile; nothing is run."""
    found: dict[Path, Verdict] = {}
    for file in files:
        try:
            compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except SyntaxError:
            found[file] = "syntax"
        else:
            found[file] = "fine"
    return found


def javascript(files: Sequence[Path]) -> dict[Path, Verdict]:
    """``node --check``: syntax, with what the language calls early errors."""
    return {one: "syntax" if _run("node", "--check", one).returncode else "fine" for one in files}


def typescript(files: Sequence[Path]) -> dict[Path, Verdict]:
    """The compiler's own module, one program for all of them."""
    where = Path(str(shutil.which("tsc"))).resolve().parents[1] / "lib" / "typescript.js"
    said = _run("node", "-e", _TYPESCRIPT, where, *files)
    return {Path(file): verdict for file, verdict in map(json.loads, said.stdout.splitlines())}


def go(files: Sequence[Path]) -> dict[Path, Verdict]:
    """``gofmt`` for the syntax, ``go build`` for the rest: each file is a package."""
    bad = _run("gofmt", "-l", "-e", *files).stderr
    found: dict[Path, Verdict] = {one: "syntax" if f"{one}:" in bad else "fine" for one in files}
    root = files[0].parents[1]
    (root / "go.mod").write_text("module shop\n\ngo 1.19\n")
    built = _run("go", "build", "./...", cwd=root).stderr
    for one in files:
        if found[one] == "fine" and f"{one.relative_to(root)}:" in built:
            found[one] = "types"
    return found


def rust(files: Sequence[Path]) -> dict[Path, Verdict]:
    """``rustc``: an error of the parser has no code, all others have one."""
    flags = ("--crate-type", "lib", "--crate-name", "shop", "--edition", "2021", "-Awarnings")
    found: dict[Path, Verdict] = {}
    for one in files:
        out = ("--emit=metadata", "--out-dir", one.parent, "--error-format=json")
        said = [json.loads(line) for line in _run("rustc", *flags, *out, one).stderr.splitlines()]
        errors = [each for each in said if each["level"] == "error" and each["spans"]]
        coded = all(each["code"] for each in errors)
        found[one] = "fine" if not errors else "types" if coded else "syntax"
    return found


def java(files: Sequence[Path]) -> dict[Path, Verdict]:
    """The compiler's own module: parsed, then analysed."""
    program = files[0].parents[1] / "Check.java"
    program.write_text(_JAVA)
    lines = _run("java", program, *files).stdout.splitlines()
    return {Path(file): said for file, said in (line.split("\t") for line in lines)}  # type: ignore[misc]


def c(files: Sequence[Path]) -> dict[Path, Verdict]:
    """``gcc -fsyntax-only``."""
    found: dict[Path, Verdict] = {}
    for one in files:
        said = _run("gcc", "-fsyntax-only", "-w", one)
        syntax = _C_SYNTAX.search(said.stderr)
        found[one] = "fine" if not said.returncode else "syntax" if syntax else "types"
    return found


#: Language to the program that must be there, and what asks it.
COMPILERS: Mapping[str, tuple[str, Callable[[Sequence[Path]], dict[Path, Verdict]]]] = {
    "python": ("true", python),
    "javascript": ("node", javascript),
    "typescript": ("tsc", typescript),
    "go": ("go", go),
    "rust": ("rustc", rust),
    "java": ("javac", java),
    "c": ("gcc", c),
}
