"""What is known of common commands: which of their words name files that they read or write, which of them lose data.

A command that is not listed is judged by its name alone, and by the words of it that name existing files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType

from cosh_tools.policy import shell_special as special
from cosh_tools.policy import shell_wrappers as wrappers
from cosh_tools.policy.shell_effects import Effects, Form, Handler, destroys_data
from cosh_tools.policy.shell_git import git
from cosh_tools.policy.shell_words import Word

_SAYS = Form("none", text_only=True, harmless=True)
_TELLS = Form("none", text_only=True)
_SUMS = Form(reads="--files0-from", filters=True)
_GREP = Form(
    "after_first",
    values="-m -A -B -C -d -D --max-count --after-context --before-context --context --include --exclude --exclude-dir "
    "--color --colour --label --binary-files",
    reads="-f --file --exclude-from",
    first_by="-e --regexp -f",
    filters=True,
)
_RG = Form(
    "after_first",
    values="-m -A -B -C -g -t -T -M -j -r -d -E --max-count --glob --iglob --type --type-not --type-add --context "
    "--max-depth --encoding --sort --color --colors --replace --max-columns --threads",
    reads="-f --file --ignore-file",
    runs="--pre --hostname-bin --search-zip -z",
    first_by="-e --regexp -f --files",
    here=True,
)
_INTERPRETERS = re.compile(r"(?:python|pypy|perl|ruby|lua)[\d.]*|node|nodejs|deno|bun|php|Rscript|R|osascript|tclsh")
_PACKS = Form("writes", values="-S -T --suffix --threads --memlimit", text_only=False)
_OWNS = Form("after_first_writes", reads="--reference", first_by="--reference")
_COPIES = Form("copies", values="-S --suffix -t --target-directory --backup --context --sparse --reflink")
_OPAQUE_WHY = MappingProxyType(
    {
        "alias": "it changes what later words mean",
        "at": "it runs commands at another time",
        "batch": "it runs commands at another time",
        "bind": "it changes the shell",
        "chroot": "it runs commands with another root folder",
        "complete": "it changes the shell",
        "coproc": "it runs a command beside the shell",
        "crontab": "it runs commands at another time",
        "enable": "it changes what later words mean",
        "expect": "it runs commands of a script",
        "fc": "it runs earlier commands again",
        "gdb": "it runs a program under its control",
        "hash": "it changes what later words mean",
        "mount": "it changes which files are where",
        "nc": "it talks to another machine",
        "ncat": "it talks to another machine",
        "netcat": "it talks to another machine",
        "nsenter": "it runs commands in another namespace",
        "parallel": "it runs commands that are read from its input",
        "patch": "it changes the files that a patch names",
        "rsh": "it runs commands on another machine",
        "script": "it runs commands of its own",
        "shopt": "it changes how the shell reads words",
        "socat": "it talks to another machine",
        "ssh": "it runs commands on another machine",
        "su": "it runs commands as another user",
        "telnet": "it talks to another machine",
        "umount": "it changes which files are where",
        "unalias": "it changes what later words mean",
        "unshare": "it runs commands in another namespace",
        "watch": "it runs a command again and again",
    }
)
_ENDS_THE_SYSTEM = frozenset(
    "reboot shutdown halt poweroff init telinit wipefs fdisk sfdisk parted mkswap userdel groupdel".split()
)
_LOSES = re.compile(
    r"(?:kubectl|oc|helm|gcloud|az|doctl|heroku|flyctl|linode-cli)\b.*\b(?:delete|uninstall|destroy|purge)\b"
    r"|(?:terraform|tofu|pulumi|cdk|vagrant)\b.*\bdestroy\b"
    r"|(?:docker|podman)\b.*(?<!-)\b(?:rm|rmi|prune|down\s.*-v)\b"
    r"|(?:aws|gsutil|rclone|mc)\b.*(?<!-)\b(?:rm|rb|delete\S*|purge|terminate-instances|remove)\b"
    r"|(?:npm|cargo|gem)\b.*\b(?:unpublish|yank)\b|gh\b.*\bdelete\b|systemctl\b.*\b(?:poweroff|reboot|halt)\b"
    r"|redis-cli\b.*\bflush(?:all|db)\b|dropdb\b|dropuser\b|mysqladmin\b.*\bdrop\b|mkfs\S*|crontab\b.*-r\b",
    re.IGNORECASE,
)


def effects(words: Sequence[Word]) -> Effects:
    """What the command of these words does; the first one is its name."""
    name, args = words[0].text.rpartition("/")[2], words[1:]
    out = _handler(name)(args)
    line = " ".join([name, *(each.text for each in args)])
    if name in _ENDS_THE_SYSTEM or _LOSES.match(line) or destroys_data(args):
        out.destructive = True
    return out


def _handler(name: str) -> Handler:
    if known := _TABLE.get(name):
        return known
    if why := _OPAQUE_WHY.get(name):
        return lambda args: Effects(mentions=[*args], opaque=[why])
    if _INTERPRETERS.fullmatch(name):
        return special.interpreter(name)
    return lambda args: Effects(mentions=[*args])


_TABLE: dict[str, Handler] = {
    **dict.fromkeys("echo true false : sleep seq basename dirname whoami uname exit return break continue shift "
                    "times type which".split(), _SAYS),
    **dict.fromkeys("env printenv id hostname uptime ps free nproc arch tty expr locale getconf cal tput ulimit umask "
                    "jobs bg fg disown kill pkill killall yes history help dirs logout pgrep".split(), _TELLS),
    "pwd": Form("none", harmless=True),
    "date": Form("none", values="-d --date", reads="-r --reference -f --file", runs="-s --set", text_only=True),
    "printf": special.printf,
    "wait": special.wait,
    "test": special.condition,
    "read": special.names,
    "mapfile": special.names,
    "readarray": special.names,
    "getopts": special.names,
    "let": special.opaque("arithmetic may run code that a variable holds"),
    "set": special.set_options,
    # looking at files
    **dict.fromkeys("cat nl tac rev stat file md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum "
                    "strings hexdump od readlink realpath namei column expand fold fmt pr comm join paste tsort base64 "
                    "base32 more zcat bzcat xzcat zless lsattr getfacl pdftotext".split(),
                    Form(values="-n -c -w -s -t -f -N -j -1 -2 -d -o --format --printf --width", filters=True)),
    "head": Form(values="-n -c --lines --bytes", filters=True),
    "tail": Form(values="-n -c -s --lines --bytes --pid --sleep-interval", filters=True),
    "less": Form(values="-x -p", runs="-k -K --lesskey-file", writes="-o -O --log-file"),
    "wc": _SUMS,
    "du": Form(values="-d --max-depth -B --block-size -t --threshold --exclude", here=True,
               reads="-X --exclude-from --files0-from"),
    "df": Form(values="-B -t -x --block-size --type --output", here=True),
    "ls": Form(values="-I -w -T --ignore --width --color --sort --time --time-style --block-size", here=True),
    "dir": Form(here=True),
    "tree": Form(values="-L -P -I --filelimit --charset", writes="-o", reads="--fromfile --gitfile", here=True),
    "cut": Form(values="-d -f -c -b --delimiter --fields --characters --output-delimiter", filters=True),
    "tr": Form("none", harmless=True),
    "sort": Form(values="-k -t -S --key --field-separator --buffer-size --parallel --sort", writes="-o --output -T",
                 reads="--files0-from --random-source", runs="--compress-program", filters=True),
    "uniq": Form("reads_then_writes", values="-f -s -w --skip-fields --skip-chars --check-chars", filters=True),
    "xxd": Form("reads_then_writes", values="-c -g -l -s -o -n"),
    "diff": Form(values="-U -C -W -I -x --unified --context --width --ignore-matching-lines --exclude --label",
                 reads="-X"),
    "diff3": Form(runs="--diff-program"),
    "cmp": Form(values="-n -i --bytes --ignore-initial"),
    **dict.fromkeys("grep egrep fgrep zgrep".split(), special.grep(_GREP)),
    "rg": _RG,
    "ag": Form("after_first", runs="--pager", here=True),
    "jq": special.jq,
    "find": special.find,
    "sed": special.sed,
    "gsed": special.sed,
    **dict.fromkeys("awk gawk mawk nawk".split(), special.awk),
    # changing files
    "touch": Form("writes", values="-d -t --date --time", reads="-r --reference"),
    "mkdir": Form("writes", values="-m --mode --context"),
    "rmdir": Form("deletes"),
    "rm": Form("deletes", destroys="-r -R -f --recursive --force"),
    "unlink": Form("deletes"),
    "shred": Form("deletes", values="-n -s --iterations --size", reads="--random-source", destructive=True),
    "truncate": Form("writes", values="-s --size", reads="-r --reference", destructive=True),
    "fallocate": Form("writes", values="-l -o --length --offset"),
    "mv": Form("moves", values="-S --suffix -t --target-directory"),
    "cp": _COPIES,
    "ln": _COPIES,
    "link": _COPIES,
    "install": Form("copies", values="-m -o -g -S -t --mode --owner --group --suffix --target-directory",
                    runs="--strip-program"),
    **dict.fromkeys("chmod chown chgrp setfacl chattr".split(), _OWNS),
    "tee": Form("writes"),
    "dd": special.dd,
    "split": Form("reads_then_writes", values="-l -b -n -a -C --lines --bytes --number", runs="--filter"),
    **dict.fromkeys("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma unlzma compress uncompress dos2unix "
                    "unix2dos".split(), _PACKS),
    "zip": special.zip_files,
    "unzip": special.unzip,
    "tar": special.tar,
    "bsdtar": special.tar,
    "rsync": special.rsync,
    "scp": special.scp,
    "git": git,
    "curl": special.curl,
    "wget": special.wget,
    # running something else
    **dict.fromkeys("bash sh dash zsh ksh ash fish".split(), wrappers.shell),
    "eval": special.opaque("eval is read apart"),
    "source": wrappers.source,
    ".": wrappers.source,
    "trap": wrappers.trap,
    "xargs": wrappers.xargs,
    "env": wrappers.env,
    "command": wrappers.command,
    "sudo": wrappers.sudo,
    "doas": wrappers.sudo,
    "timeout": wrappers.after("-k -s --kill-after --signal", skip=1),
    "nice": wrappers.after("-n --adjustment"),
    "ionice": wrappers.after("-c -n -p -P -u --class --classdata"),
    "chrt": wrappers.after("-T -P -D", skip=1),
    "taskset": wrappers.after("", skip=1),
    "nohup": wrappers.after(""),
    "setsid": wrappers.after(""),
    "time": wrappers.after("-f -o --format --output"),
    "stdbuf": wrappers.after("-i -o -e --input --output --error"),
    "builtin": wrappers.after(""),
    "exec": wrappers.after("-a"),
    "busybox": wrappers.after(""),
    "toybox": wrappers.after(""),
    "strace": wrappers.after("-e -o -p -s -u -E -P"),
    "ltrace": wrappers.after("-e -o -p -s -u -n -l"),
    "flock": wrappers.flock,
    "npx": wrappers.after("-p --package"),
    "uvx": wrappers.after("--from --with -p --python"),
    **dict.fromkeys("uv poetry pipenv pdm hatch conda mamba micromamba rye pixi bundle".split(), wrappers.runner),
}  # fmt: skip
