"""Variables that other programs, or the shell itself, act upon."""

from __future__ import annotations

import os
import re

_SAFE_TO_SET = re.compile(
    r"(?:PYTHON(?:UNBUFFERED|HASHSEED|DONTWRITEBYTECODE|IOENCODING|UTF8|FAULTHANDLER|WARNINGS)|DEBUG|VERBOSE|CI|LANG|LANGUAGE"
    r"|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|TERM|[A-Z]*LOG_?LEVEL|RUST_LOG|RUST_BACKTRACE|NODE_ENV|ENVIRONMENT"
    r"|(?:OMP|MKL|OPENBLAS|NUMEXPR)_NUM_THREADS|CUDA_VISIBLE_DEVICES|TOKENIZERS_PARALLELISM|PORT|HOST|SEED|GOOS|GOARCH|CGO_ENABLED"
    r"|DEBIAN_FRONTEND|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|GIT_TERMINAL_PROMPT|JUPYTER_ALLOW_INSECURE_WRITES)"
)  # fmt: skip
_OBEYED = re.compile(
    r"PATH|IFS|ENV|HOME|PWD|OLDPWD|CDPATH|SHELL|SHELLOPTS|BASH\w*|PS\d|PROMPT_COMMAND|GLOBIGNORE|EXECIGNORE|FIGNORE|TMPDIR|TMP|TEMP"
    r"|HISTFILE|HOSTFILE|INPUTRC|FUNCNEST|POSIXLY_CORRECT|MAIL\w*|FCEDIT|LD_\w+|DYLD_\w+|GIT_\w+|SSH_\w+|PYTHON\w+|PERL\w+|RUBY\w*"
    r"|NODE_\w+|NPM_\w+|npm_\w+|JAVA_\w+|CLASSPATH|GO[A-Z]+|CARGO\w*|RUSTC?\w*|CC|CXX|CPP|LD|AS|AR|\w*FLAGS|MAKE\w*|\w*PAGER|\w*EDITOR"
    r"|VISUAL|BROWSER|LESS\w*|MAN\w*|\w*_?proxy|\w*_?PROXY|XDG_\w+|DOCKER_\w+|KUBE\w+|AWS_\w+|\w*_(?:KEY|TOKEN|SECRET|CONFIG|COMMAND)"
    r"|GCONV_PATH|LOCPATH|NLSPATH|TERMINFO\w*|PIP_\w+|UV_\w+|CONDA_\w+|VIRTUAL_ENV|PYTEST_\w+|JUPYTER_\w+|IPYTHON\w*|GTK_\w+|QT_\w+"
)  # fmt: skip


def obeyed(name: str) -> bool:
    """Whether other programs, or the shell itself, act on the variable of this name."""
    return _OBEYED.fullmatch(name) is not None or name in os.environ


def safe_to_set(name: str) -> bool:
    """Whether a command may be given this variable without becoming another one."""
    return _SAFE_TO_SET.fullmatch(name) is not None
