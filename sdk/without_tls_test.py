#!/usr/bin/env python3
"""The SDK built with MUSTER_SDK_TLS=OFF: it needs no OpenSSL, works without TLS, and says what it lacks (S-1).

    without_tls_test.py CMAKE SOURCE_DIR

Nearly all of its objects are those of the usual build, so a compiler cache makes it cheap.
"""

import pathlib
import subprocess
import sys
import tempfile


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def main():
    cmake, source = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        run(cmake, "-S", source, "--preset", "daemon", "-B", folder, "-DMUSTER_SDK_TLS=OFF", "-DMUSTER_PAGE=OFF")
        run(cmake, "--build", folder, "-j2", "--target", "example_game_server", "example_c_game_server", "muster_sdk_bundle")
        for example in ("game_server", "c_game_server"):
            path = pathlib.Path(folder) / "sdk/examples" / example
            if "libssl" in run("ldd", path):
                sys.exit(f"failed: {example} needs OpenSSL")
            asked = subprocess.run([path, "muster-tls://127.0.0.1:1", "27000"], capture_output=True, text=True, timeout=60)
            if asked.returncode != 64 or (example == "game_server" and "built without TLS" not in asked.stderr):
                sys.exit(f"failed: {example} does not say that it has no TLS: {asked}")
            print(f"ok: {example} without TLS")


if __name__ == "__main__":
    main()
