"""One certificate authority for all local endpoints of a test process.

``SSL_CERT_FILE`` is read by the SDK's transport, so every test that uses it must find the same
file there.
"""

import functools
import os
import tempfile
from pathlib import Path

from speakahead.emulator import Certificates


@functools.cache
def certificates() -> Certificates:
    """The certificates to give to every endpoint; this process trusts them from here on."""
    shared = Certificates(Path(tempfile.mkdtemp(prefix="speakahead-ca-")))
    os.environ["SSL_CERT_FILE"] = str(shared.ca_path)
    return shared
