"""The cryptography of the page /subscribe, against the official vectors of NIP-44 and BIP-340, in node."""

import subprocess

from programs import REPOSITORY

HERE = REPOSITORY / "Tests/Interop"
PAGE = REPOSITORY / "Sources/HTTP/BrowserPages/Subscribe"


def test_passes_the_official_vectors(tmp_path):
    # Without this, node takes a file `.js` for a module of another kind.
    for name in ["nip44.js", "secp256k1.js"]:
        (tmp_path / name).write_bytes((PAGE / name).read_bytes())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    vectors = [
        REPOSITORY / "Tests/NostrTests/Vectors/nip44.vectors.json",
        REPOSITORY / "Tests/CipherTests/Vectors/bip340-test-vectors.csv",
    ]
    command = ["node", HERE / "page_cryptography.mjs", tmp_path, *vectors]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    *failures, summary = run.stdout.splitlines()
    assert not failures, "\n".join(failures)
    # As many as the files hold.
    assert summary == "107 passed, 0 failed"
