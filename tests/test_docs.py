"""The documentation's links lead somewhere, and its site loads nothing from anybody else."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parent.parent
# Those that mkdocs does not build; the pages link each other under its own check.
BESIDE = [ROOT / name for name in ("README.md", "README.zh.md", "CHANGELOG.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """Of its headings, as the site names them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?s)```.*?```", "", page.read_text()))
    return {slugify(re.sub(r"[`*]", "", heading), "-") for heading in headings}


def broken(text, folder):
    """Relative links in Markdown that lead nowhere."""
    found = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = folder / path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", BESIDE, ids=lambda page: page.name)
def test_a_page_beside_the_site_has_no_broken_link(page):
    assert broken(page.read_text(), page.parent) == []


def test_a_broken_link_is_found():
    text = "[a](docs/none.md) [b](docs/gateway.md#none) [c](docs/gateway.md#keys) [d](https://example.org)"
    assert broken(text, ROOT) == ["docs/none.md", "docs/gateway.md#none"]


def build(configuration, target):
    # Not --quiet: with it warnings are neither shown nor counted.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", configuration, "-d", target]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", target)
    assert built.returncode == 0, built.stderr
    return target


class Loaded(HTMLParser):
    """What a browser would load for a page, by itself."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("script", "img", "iframe", "source"):
            self.urls.append(given.get("src") or "")
        elif tag == "link" and given.get("rel") != "canonical":
            self.urls.append(given.get("href") or "")


def foreign(html):
    """URLs of others that a page loads."""
    parser = Loaded()
    parser.feed(html)
    return [url for url in parser.urls if re.match(r"(https?:)?//", url)]


def test_every_page_is_built_and_loads_nothing_from_others(site):
    pages = {path.name: path.read_text() for path in site.glob("*.html")}
    assert {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")} <= set(pages)
    assert {name: foreign(html) for name, html in pages.items() if foreign(html)} == {}
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(['\"]?(https?:)?//", path.read_text())]
    assert styles == []


def test_what_is_loaded_from_others_is_found():
    page = '<link rel="stylesheet" href="https://c/x.css"><script src="//c/x.js"></script><img src="a.png">'
    assert foreign(page) == ["https://c/x.css", "//c/x.js"]


@pytest.mark.parametrize("fault", ["[x](none.md)", "[x](page.md#none)", "[x](../ops/none.conf)"])
def test_the_site_is_not_built_with_a_broken_link(tmp_path, fault):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Index\n")
    # Beside it a link to a file of the repository, which the site names instead.
    (docs / "page.md").write_text(f"# Page\n\n[the sample](../ops/redis.conf), {fault}\n")
    ours = (ROOT / "mkdocs.yml").read_text().replace("ops/docs_site.py", str(ROOT / "ops" / "docs_site.py"))
    (tmp_path / "mkdocs.yml").write_text(ours[: ours.index("nav:")])
    built = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert built.returncode != 0
    assert "none" in built.stderr
    assert "redis.conf" not in built.stderr
