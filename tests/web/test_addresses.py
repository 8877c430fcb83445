"""Which machines WebFetch may not reach, in every way that they can be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cosh_tools.contract import Fetches, PermissionMode
from cosh_tools.registry import load
from cosh_tools.results import ToolError
from cosh_tools.validate import validate
from cosh_tools.web.address import literal, parse, special
from support.desk import Desk
from web.site import Site

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "host",
    (
        "127.0.0.1 127.1 0x7f.1 0177.0.0.1 2130706433 0x7f000001 localhost LOCALHOST localhost. app.localhost [::1] "
        "[::ffff:127.0.0.1] [::ffff:7f00:1] 0.0.0.0 0 [::] 10.1.2.3 192.168.0.1 172.16.9.9 100.64.0.1 169.254.169.254 "
        "169.254.1.1 [fe80::1] [fc00::1] [64:ff9b::7f00:1] [2002:7f00:1::] [::127.0.0.1] 224.0.0.1 255.255.255.255 "
        "192.0.0.192 [fd00:ec2::254] 198.18.0.1"
    ).split(),
)
async def test_a_special_address_is_refused_in_every_mode_before_anyone_is_asked(tmp_path: Path, host):
    for mode in (PermissionMode.BYPASS, PermissionMode.TRUST, PermissionMode.DEFAULT):
        result = await Desk(tmp_path, mode=mode)("WebFetch", url=f"http://{host}:9/x")
        assert result.is_error
        assert "It is fetched only if a rule names it: WebFetch(domain:" in result.content, result.content


@pytest.mark.parametrize("rule", ["WebFetch", "WebFetch(domain:localhost)", "WebFetch(domain:10.*)"])
async def test_a_rule_that_does_not_name_the_address_does_not_open_it(tmp_path: Path, rule):
    result = await Desk(tmp_path, allow=(rule,))("WebFetch", url="http://127.0.0.1:9/")
    assert (result.is_error, "only if a rule names it" in result.content) == (True, True)


async def test_a_rule_for_the_address_or_for_localhost_opens_it(tmp_path: Path):
    with Site() as site:
        site.page("/", "inside", kind="text/plain")
        by_address = await Desk(tmp_path, allow=("WebFetch(domain:127.0.0.1)",))("WebFetch", url=site.url())
        by_name = await Desk(tmp_path, allow=("WebFetch(domain:localhost)",))(
            "WebFetch", url=site.url(host="localhost")
        )
        short = await Desk(tmp_path, allow=("WebFetch(domain:127.*)",))("WebFetch", url=site.url(host="127.1"))
        assert ["inside" in result.content for result in (by_address, by_name, short)] == [True, True, True], (
            short.content
        )
        assert {headers["Host"] for _path, headers, _client in site.requests} == {
            f"{host}:{site.port}" for host in ("127.0.0.1", "localhost", "127.1")
        }


def test_public_addresses_are_not_special():
    assert [special(literal(host)) for host in ("8.8.8.8", "1.1.1.1", "2606:4700::1111", "93.184.216.34")] == [""] * 4


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://Example.COM/A?b=c#d", "https://example.com/A?b=c"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("example.com/path", "https://example.com/path"),
        ("https://bücher.example/ü?q=ä b", "https://xn--bcher-kva.example/%C3%BC?q=%C3%A4%20b"),
        ("https://example.com/a%20b?x=%C3%BC", "https://example.com/a%20b?x=%C3%BC"),
        ("http://[2606:4700::1111]:8080/x", "http://[2606:4700::1111]:8080/x"),
    ],
)
def test_an_address_is_taken_apart_once_and_used_as_it_was_understood(text, url):
    assert parse(text).url == url
    (touch,) = load("WebFetch").touches(validate(load("WebFetch"), {"url": text})[0], Desk(Path("/")).ctx)
    assert touch == Fetches(url, parse(text).host)


@pytest.mark.parametrize(
    "text",
    [
        *"file:///etc/passwd ftp://example.com/ //example.com/ http:///x http://u:p@example.com/".split(),
        *"http://example.com\\@127.0.0.1/ http://example.com:99999/ http://[::1 data:text/html,x".split(),
        "just words",
        "http://exa\tmple.com/",
        "http://example.com/" + "x" * 9000,
    ],
)
def test_what_is_no_web_address_is_refused(text):
    with pytest.raises(ToolError):
        parse(text)


INSIDE = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.desk import Desk
from web.site import Site

async def main():
    with Site() as site:
        site.page("/", "inside", kind="text/plain")
        said = {{}}
        for allow in ((), ("WebFetch(domain:evil.example)",), ("WebFetch(domain:127.0.0.1)",)):
            desk = Desk(Path.cwd(), allow=allow)
            said[" ".join(allow)] = (await desk("WebFetch", url=site.url(host="evil.example"))).content
        said["mixed"] = (await Desk(Path.cwd())("WebFetch", url=site.url(host="mixed.example"))).content
        said["asked"] = [headers["Host"] for _path, headers, _client in site.requests]
        said["port"] = site.port
        print(json.dumps(said))

asyncio.run(main())
"""


def test_a_public_name_that_leads_to_this_machine_is_refused_even_if_a_rule_allows_the_name(tmp_path: Path):
    assert shutil.which("unshare"), "this test needs unshare (util-linux)"
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost evil.example mixed.example\n93.184.216.34 mixed.example\n")
    inside = f'mount --bind "$1" /etc/hosts && exec "{sys.executable}" -c "$2"'
    rights = ["-m"] if os.getuid() == 0 else ["-rm"]
    done = subprocess.run(
        ["unshare", *rights, "sh", "-c", inside, "sh", str(hosts), INSIDE.format(tests=str(TESTS))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    leads = "evil.example leads to 127.0.0.1, which is this machine itself. It is fetched only if a rule names it"
    assert leads in said[""]
    assert leads in said["WebFetch(domain:evil.example)"]
    assert "inside" in said["WebFetch(domain:127.0.0.1)"]
    assert "mixed.example leads to 127.0.0.1" in said["mixed"]
    assert said["asked"] == [f"evil.example:{said['port']}"]
