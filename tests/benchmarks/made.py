"""Archives for tests."""

import io
import tarfile
import zipfile
from collections.abc import Mapping


def archive(members: Mapping[str, str | bytes], mode: str = "zip", method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip, or a tar in one of tarfile's modes, with these members."""
    stream = io.BytesIO()
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in members.items()}
    if mode == "zip":
        with zipfile.ZipFile(stream, "w", method) as zipped:
            for name, content in contents.items():
                zipped.writestr(name, content)
        return stream.getvalue()
    with tarfile.open(fileobj=stream, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()
