"""How Sphinx makes the site of these pages. docs/build.py calls it and says where Doxygen's output is."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

project = "BlockVec"
author = "The BlockVec developers"
copyright = "2026, The BlockVec developers"  # Sphinx's name
release = ".".join(
    re.findall(r"BLOCKVEC_VERSION_\w+ (\d+)", (ROOT / "include/blockvec/version.hpp").read_text(encoding="utf-8"))
)
version = release

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["figures"]
suppress_warnings = ["myst.header"]  # a page may begin with a heading of any level where it is included

# Pages are those that a repository's browser shows, too: headings have its anchors.
myst_heading_anchors = 3
highlight_language = "cpp"

# The C++ reference: Doxygen reads the public headers, docs/by_header.py sorts what it found by header.
breathe_default_project = "BlockVec"
breathe_default_members = ("members",)
breathe_show_include = False

# The Python reference: docstrings, without the compiled module.
sys.path.insert(0, str(ROOT / "python/src"))
autodoc_mock_imports = ["blockvec._host"]
autodoc_typehints = "none"  # docstrings say types in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
# The colours of furo's dark theme. Debian 12's furo applies them where a reader chooses the theme, but not where the
# browser asks for it.
dark_colors = {
    "color-problematic": "#ee5151",
    "color-foreground-primary": "#ffffffcc",
    "color-foreground-secondary": "#9ca0a5",
    "color-foreground-muted": "#81868d",
    "color-foreground-border": "#666666",
    "color-background-primary": "#131416",
    "color-background-secondary": "#1a1c1e",
    "color-background-hover": "#1e2124ff",
    "color-background-hover--transparent": "#1e212400",
    "color-background-border": "#303335",
    "color-background-item": "#444",
    "color-brand-primary": "#2b8cee",
    "color-brand-content": "#368ce2",
    "color-highlighted-background": "#083563",
    "color-api-keyword": "var(--color-foreground-secondary)",
    "color-highlight-on-target": "#333300",
    "color-admonition-background": "#18181a",
    "color-card-border": "var(--color-background-secondary)",
    "color-card-background": "#18181a",
    "color-card-marginals-background": "var(--color-background-hover)",
}
html_theme_options = {"dark_css_variables": dark_colors}
html_title = f"BlockVec {release}"
html_static_path = ["_static"]
html_css_files = ["blockvec.css"]
html_copy_source = False
html_show_sphinx = False


def link_as_a_repository_does(app, page, source):
    """Links to Markdown files lead to pages of the site; to those outside of docs/ they are downloads."""
    docs, folder = pathlib.Path(app.srcdir), (pathlib.Path(app.srcdir) / page).parent

    def link(match):
        words, target = match[1], match[2]
        inside = (folder / target).resolve()
        if docs in inside.parents:
            return f"{{doc}}`{words} </{inside.relative_to(docs).with_suffix('').as_posix()}>`"
        return f"{{download}}`{words} <{target}>`"

    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]+\.md)\)", link, source[0])


def escape_bars(app, what, name, thing, options, lines):
    """|w| is an absolute value in docstrings, and no substitution."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def setup(app):
    app.connect("source-read", link_as_a_repository_does)
    app.connect("autodoc-process-docstring", escape_bars)
