#!/usr/bin/env python3
"""`./run install-sdk` in a fresh tree: one command, and a program in C++ and one in C are built and run with what it printed.

    install_sdk_test.py CXX CC
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT_OF = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "CHANGELOG.md", "cmake", "docs", "packaging", "run", "sdk", "src", "tools", "web")
PROGRAM = """
#include <muster/muster.h>
#include <stdio.h>
int main(void) { printf("%s\\n", muster_error_name(MUSTER_SERVER_BUSY)); return 0; }
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    compilers = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        tree, prefix = pathlib.Path(name) / "tree", pathlib.Path(name) / "prefix"
        tree.mkdir()
        for part in BUILT_OF:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("node_modules", "dist", "__pycache__"))
            else:
                shutil.copy(ROOT / part, tree / part)
        kept = {key: value for key, value in os.environ.items() if key not in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH")}
        said = run(tree / "run", "install-sdk", "--prefix", prefix, env={**kept, "MUSTER_SETUP": "skip"}, cwd=name)
        print(said, end="")
        for number, (compiler, package) in enumerate(zip(compilers, ("muster", "muster-c"))):
            source = pathlib.Path(name) / f"program{number}.{'cpp' if package == 'muster' else 'c'}"
            source.write_text(PROGRAM, encoding="utf-8")
            # In the shell that was told the lines that it printed, as a reader would.
            script = f"{said}\n{compiler} {source} -o {name}/program $(pkg-config --cflags --libs {package}) && {name}/program"
            if run("bash", "-euc", script, env=kept) != "server_busy\n":
                sys.exit(f"failed: {package}")
            print(f"ok: a program with {package}")


if __name__ == "__main__":
    main()
