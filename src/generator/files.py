"""What the generators share."""


def write(path, text):
    """Leaves a file alone whose text would not change, so that nothing is built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
