"""The file types that Grep knows by name, and the names that belong to each."""

from __future__ import annotations

from types import MappingProxyType

from cosh_tools.results import ToolError

_TABLE = {
    "rust rs": "*.rs",
    "js javascript": "*.js *.jsx *.mjs *.cjs *.vue",
    "ts typescript": "*.ts *.tsx *.mts *.cts",
    "py python": "*.py *.pyi",
    "ipynb jupyter notebook": "*.ipynb",
    "go": "*.go",
    "java": "*.java",
    "c": "*.c *.h",
    "cpp c++": "*.cpp *.hpp *.cc *.hh *.cxx *.hxx *.h *.inl",
    "cs csharp": "*.cs",
    "rb ruby": "*.rb *.gemspec Gemfile Rakefile",
    "php": "*.php *.phtml",
    "swift": "*.swift",
    "kt kotlin": "*.kt *.kts",
    "scala": "*.scala *.sc *.sbt",
    "css": "*.css *.scss *.sass *.less",
    "html": "*.html *.htm",
    "json": "*.json *.jsonl",
    "yaml yml": "*.yaml *.yml",
    "toml": "*.toml Cargo.lock",
    "xml": "*.xml *.xsd *.xsl *.xslt",
    "svg": "*.svg",
    "md markdown": "*.md *.markdown *.mdx",
    "rst": "*.rst",
    "tex latex": "*.tex *.ltx *.cls *.sty *.bib",
    "txt text": "*.txt",
    "csv": "*.csv *.tsv",
    "log": "*.log",
    "sh shell bash": "*.sh *.bash *.zsh *.ksh .bashrc .bash_profile .profile .zshrc",
    "ps powershell": "*.ps1 *.psm1 *.psd1",
    "bat batch": "*.bat *.cmd",
    "sql": "*.sql",
    "r": "*.r *.R *.Rmd *.rmd *.Rnw",
    "jl julia": "*.jl",
    "lua": "*.lua",
    "perl pl": "*.pl *.pm *.t",
    "dart": "*.dart",
    "elixir ex": "*.ex *.exs",
    "erlang erl": "*.erl *.hrl",
    "haskell hs": "*.hs *.lhs",
    "ocaml ml": "*.ml *.mli",
    "clojure clj": "*.clj *.cljs *.cljc *.edn",
    "fsharp fs": "*.fs *.fsi *.fsx",
    "zig": "*.zig",
    "nim": "*.nim",
    "asm": "*.asm *.s *.S",
    "fortran": "*.f *.f90 *.f95 *.F90 *.for",
    "matlab": "*.m",
    "objc": "*.m *.mm *.h",
    "cython": "*.pyx *.pxd *.pxi",
    "cuda": "*.cu *.cuh",
    "graphql": "*.graphql *.gql",
    "proto protobuf": "*.proto",
    "make": "Makefile makefile GNUmakefile *.mk *.mak",
    "cmake": "CMakeLists.txt *.cmake",
    "docker": "Dockerfile Dockerfile.* *.dockerfile",
    "terraform tf": "*.tf *.tfvars",
    "ini config": "*.ini *.cfg *.conf *.properties",
    "diff patch": "*.diff *.patch",
    "svelte": "*.svelte",
    "vue": "*.vue",
}

TYPES = MappingProxyType({name: tuple(globs.split()) for names, globs in _TABLE.items() for name in names.split()})


def globs_of(name: str) -> tuple[str, ...]:
    """The name patterns of a type. Raises ToolError for one that is not known."""
    found = TYPES.get(name.strip().lower().removeprefix("."))
    if found is None:
        known = ", ".join(sorted(names.split()[0] for names in _TABLE))
        raise ToolError(f"Unknown file type {name!r}. Known: {known}. Any other: use glob, for example *.{name}.")
    return found
