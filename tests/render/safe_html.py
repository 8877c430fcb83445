"""Reads HTML as a browser would and says what in it could act: anything that is not on the list is a failure."""

from __future__ import annotations

from html.parser import HTMLParser

TAGS = frozenset(
    "a b blockquote br code dd details div dl dt em h3 h4 h5 h6 hr i img li ol p pre s section span strong style "
    "summary table tbody td th thead tr ul".split()
)
ATTRIBUTES = frozenset(
    "alt aria-hidden aria-label aria-live class data-lm-suppress-shortcuts dir href open rel role src start style "
    "tabindex".split()
)
VOID = frozenset({"br", "hr", "img"})


class Reader(HTMLParser):
    """Collects what is wrong, the links, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    @property
    def text(self) -> str:
        """What a person reads."""
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.wrong.append(f"<{tag} {name}>")
            if name == "href":
                self.links.append(value or "")
                if not (value or "").lower().startswith(("http://", "https://", "mailto:", "#")):
                    self.wrong.append(f"href={value!r}")
            if name == "src" and not (value or "").startswith(
                ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,")
            ):
                self.wrong.append(f"src={value!r}")
            if name == "style" and not (value or "").startswith("text-align:"):
                self.wrong.append(f"style={value!r}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:] or 'nothing'}")
        else:
            self.open.pop()

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def wrong(html: str) -> list[str]:
    """Everything in the HTML that may not be there."""
    return Reader(html).wrong


def words(html: str) -> str:
    """The text of the HTML."""
    return Reader(html).text


PAYLOADS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
    "<a href='javascript:window.pwned=1'>x</a>",
    "[x](javascript:window.pwned=1)",
    "[x](JaVaScRiPt:window.pwned=1)",
    "[x](java\tscript:window.pwned=1)",
    "[x](javascript&colon;window.pwned=1)",
    "[x](&#106;avascript:window.pwned=1)",
    "[x](<javascript:window.pwned=1>)",
    "[x](\x01javascript:window.pwned=1)",
    "[x](data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==)",
    "[x](vbscript:window.pwned=1)",
    "[x](blob:https://x.org/1)",
    "[x](//evil.example/x)",
    "[x](\\\\evil.example\\x)",
    "[x](https://good.example@evil.example/)",
    "<javascript:window.pwned=1>",
    "[x]: javascript:window.pwned=1\n\n[x]",
    "![x](https://evil.example/pixel.png)",
    '![x](x "onerror=window.pwned=1")',
    "![x](data:image/svg+xml,<svg onload=window.pwned=1>)",
    '[x](https://x.org/"onmouseover="window.pwned=1)',
    '[x](https://x.org "title\\" onmouseover=\\"window.pwned=1")',
    "`<script>window.pwned=1</script>`",
    "```html\n<script>window.pwned=1</script>\n```",
    '``` "><script>window.pwned=1</script>\n<img src=x onerror=window.pwned=1>\n```',
    "    <script>window.pwned=1</script>",
    "- x\n\n      ```\n  <script>window.pwned=1</script>",
    "| <script>window.pwned=1</script> |\n|---|\n| <img src=x onerror=window.pwned=1> [x](javascript:pwned=1) |",
    "> <script>window.pwned=1</script>",
    "# <img src=x onerror=window.pwned=1>",
    "<style>*{display:none}</style>",
    "<div style='position:fixed;inset:0'><button>Run once</button></div>",
    "<form action=https://evil.example><input></form>",
    "<!--<img src=x onerror=window.pwned=1>-->",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "</div></div></details><script>window.pwned=1</script>",
    "$\\href{javascript:window.pwned=1}{x}$",
    "$$\\style{position:fixed}{x}$$",
    "\\(\\require{html}\\class{x}{y}\\)",
    "$</span><script>window.pwned=1</script>$",
    "\\begin{a}</span><img src=x onerror=window.pwned=1>\\end{a}",
    '<https://x.org/"><script>window.pwned=1</script>',
    "https://x.org/'><script>window.pwned=1</script>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "\u2028<script>window.pwned=1</script>",
    "<scr\x00ipt>window.pwned=1</script>",
    "<a data-commandlinker-command='notebook:run-cell'>x</a>",
)  # fmt: skip
"""What a model, a file or a page may say to make the notebook act for it."""
