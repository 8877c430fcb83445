"""Pages around a turn's outputs: as JupyterLab would show them, light and dark, and with every style lost."""

from __future__ import annotations

from collections.abc import Iterable

from cosh_nb.render.slots import Slot
from looks.pictures import fonts

LIGHT = {
    "--jp-layout-color0": "#fff",
    "--jp-layout-color1": "#fff",
    "--jp-layout-color2": "#eee",
    "--jp-border-color1": "#bdbdbd",
    "--jp-border-color2": "#e0e0e0",
    "--jp-content-font-color1": "rgba(0,0,0,.87)",
    "--jp-content-link-color": "#0d47a1",
    "--jp-brand-color1": "#1976d2",
    "--jp-warn-color0": "#e65100",
    "--jp-error-color1": "#d32f2f",
    "--jp-success-color1": "#388e3c",
    "--jp-ui-inverse-font-color1": "#fff",
}
DARK = {
    "--jp-layout-color0": "#111",
    "--jp-layout-color1": "#212121",
    "--jp-layout-color2": "#424242",
    "--jp-border-color1": "#616161",
    "--jp-border-color2": "#424242",
    "--jp-content-font-color1": "#fff",
    "--jp-content-link-color": "#64b5f6",
    "--jp-brand-color1": "#2196f3",
    "--jp-warn-color0": "#f57c00",
    "--jp-error-color1": "#f44336",
    "--jp-success-color1": "#4caf50",
    "--jp-ui-inverse-font-color1": "rgba(0,0,0,.8)",
}
FONTS = "--jp-ui-font-family:'Looks';--jp-content-font-family:'Looks';--jp-code-font-family:'Looks Mono'"


def page(slots: Iterable[Slot], theme: str = "light") -> dict[str, str]:
    """The outputs as a page: "light", "dark" as in JupyterLab, "bare" with our style only, "none" without it."""
    colours = DARK if theme == "dark" else LIGHT if theme == "light" else {}
    variables = ";".join(f"{name}:{value}" for name, value in colours.items())
    ground = colours.get("--jp-layout-color0", "#fff")
    ink = colours.get("--jp-content-font-color1", "#1f2328")
    face = f":root{{{variables};{FONTS}}}" if colours else ".cn.cn.cn{--cn-font:Looks;--cn-mono:'Looks Mono'}"
    body = f"body{{margin:0;padding:8px;background:{ground};color:{ink};font:13px/1.3 Looks}}"
    rules = f"{face}{body}pre,code{{font-family:'Looks Mono'}}"
    shown = [slot for slot in slots if slot.html and not (theme == "none" and slot.id == 0)]
    body = "".join(f"<div>{slot.html}</div>" for slot in shown)
    return {"rules": rules, "body": f"<main>{body}</main>", "light": str(theme != "dark").lower()}


def empty() -> str:
    """The page before anything is put on it, with the fonts."""
    head = f'<meta charset="utf-8"><title>A turn</title><style>{fonts()}</style><style id="rules"></style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body></body></html>'


PUT = """({rules, body, light}) => {
  document.getElementById('rules').textContent = rules;
  document.body.setAttribute('data-jp-theme-light', light);
  document.body.innerHTML = body;
}"""
