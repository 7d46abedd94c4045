"""Where npm's @google-cloud/agones-sdk is, for tests that run it."""

import fcntl
import pathlib
import shutil
import subprocess

NPM = pathlib.Path(__file__).parent / "agones_npm"


def npm_client():
    """The folder with the client in it; a sentence why not, when npm cannot be had."""
    if not shutil.which("npm") or not shutil.which("node"):
        return None, "npm is not installed"
    # Tests run at the same time, and one of them installs.
    with open(NPM / "package-lock.json", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = NPM / "node_modules" / ".package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < (NPM / "package-lock.json").stat().st_mtime:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
                                  cwd=NPM, capture_output=True, text=True, timeout=240)
            if done.returncode:
                return None, f"npm cannot fetch the Agones client: {done.stderr.strip()[-300:]}"
    return NPM, ""
