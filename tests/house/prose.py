"""Sentences of Markdown pages: what is running text, where a sentence ends, how many words it has."""

import re

# A dot after these ends no sentence.
ABBREVIATIONS = ("e.g.", "i.e.", "et al.", "cf.", "vs.", "no.", "fig.", "sec.")
END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\"'(*_]*[A-Z0-9ÄÖÜα-ωΑ-Ω`])")
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def without_code(text):
    """The lines of a page with those of fenced code emptied, so that line numbers stay."""
    lines, fence = [], None
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark[1]
            lines.append("")
        elif fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
            lines.append("")
        else:
            lines.append(line)
    return lines


def paragraphs(text):
    """(number of the first line, text) of each paragraph and list item: no code, tables, headings or pictures."""
    found, begin, parts, after_item = [], 0, [], False

    def close():
        nonlocal parts
        if parts:
            found.append((begin, " ".join(parts)))
        parts = []

    for number, line in enumerate(without_code(text), 1):
        item = ITEM.match(line)
        indented_code = line.startswith("    ") and not parts and not after_item
        if not line.strip() or line.lstrip().startswith(("|", "#", "<!--", "![")) or indented_code:
            close()
            after_item = after_item and not line.strip()
            continue
        if item:
            close()
            after_item = True
        elif not line.startswith(" ") and not parts:
            after_item = False
        if not parts:
            begin = number
        parts.append(line[item.end() :].strip() if item else line.strip())
    close()
    return found


def plain(paragraph):
    """A paragraph as it is read: the text of links, one word for a piece of code, no pictures."""
    paragraph = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", paragraph)
    paragraph = re.sub(r"``?[^`]+``?", "Code", paragraph)
    paragraph = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", paragraph)
    return re.sub(r"<https?://[^>]*>|https?://\S+", "Address", paragraph)


def sentences(paragraph):
    text = plain(paragraph)
    for abbreviation in ABBREVIATIONS:
        text = re.sub(rf"(?<!\w){re.escape(abbreviation)}", abbreviation.replace(".", "\0"), text, flags=re.IGNORECASE)
    return [part.replace("\0", ".").strip() for part in END.split(text) if part.strip()]


def words(sentence):
    """Pieces between blanks that hold a letter or a digit."""
    return [piece for piece in sentence.split() if re.search(r"\w", piece)]
