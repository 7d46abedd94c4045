#!/usr/bin/env python3
"""Installs the SDK into a fresh folder and builds programs on it, as a user would: with find_package and with
pkg-config, in C++ and in C, and loads the shared library from Python.

    install_test.py CMAKE BUILD_DIR CXX CC
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CXX_PROGRAM = """
#include <muster/matchmaker.h>
#include <muster/frames.h>
#include <muster/game_server.h>
#include <muster/muster.h>
#include <muster/player.h>
#include <muster/tcp_runner.h>

#include <cstdio>

int main() {
    using namespace muster::sdk;
    TcpRunner runner;
    GameServer server({.ip = "127.0.0.1", .port = 27015, .region = RegionId{2}}, {});
    Matchmaker matchmaker({.matchmaker_id = "chat", .regions = {RegionId{2}}}, {});
    Player player({}, {});
    if (player.send(1000, {}) || frames_to_ping_ms(6, 60) != 100) return 1;
    runner.add(player, "127.0.0.1:11031");
    runner.add(server, "127.0.0.1:11032");
    runner.post([&] { runner.stop(); });
    runner.run();
    std::printf("%s %s\\n", muster_version(), muster_error_name(static_cast<int>(ErrorCode::server_busy)));
}
"""

C_PROGRAM = """
#include <muster/muster.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    muster_game_server* server;
    muster_player* player;
    muster_game_server_options options;
    muster_player_options player_options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.ip = "127.0.0.1";
    options.port = 27015;
    options.max_matches = 1;
    server = muster_game_server_new(&options, NULL, 0);
    if (!server) return 1;
    muster_game_server_free(server);
    memset(&player_options, 0, sizeof player_options);
    player_options.size = sizeof player_options;
    player = muster_player_new(&player_options, NULL, 0);
    if (!player || muster_player_send(player, 1000, "hi", 2)) return 1;
    muster_player_free(player);
    printf("%s %s\\n", muster_version(), muster_error_name(MUSTER_SERVER_BUSY));
    return 0;
}
"""

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX C)
find_package(Muster @VERSION@ REQUIRED)
add_executable(in_cxx in_cxx.cpp)
target_link_libraries(in_cxx Muster::sdk)
add_executable(in_c in_c.c)
target_link_libraries(in_c Muster::sdk)
add_executable(in_c_shared in_c.c)
target_link_libraries(in_c_shared Muster::c)
"""


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=150, **options)
    if result.returncode != 0:
        sys.exit(f"failed: {' '.join(str(part) for part in command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(what, condition):
    if not condition:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


def public_headers_are_plain(prefix):
    """No header asks for anything but the standard library and its own siblings."""
    include = re.compile(r'#include\s+[<"]([^>"]+)[>"]')
    for header in sorted((prefix / "include/muster").iterdir()):
        for name in include.findall(header.read_text(encoding="utf-8")):
            if not (name.startswith("muster/") or re.fullmatch(r"[a-z_0-9]+(\.h)?", name)):
                sys.exit(f"failed: {header.name} includes {name}")


def main():
    cmake, build, cxx, cc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        prefix = work / "prefix"
        for component in ("sdk", "library"):
            run(cmake, "--install", build, "--prefix", prefix, "--component", component)
        public_headers_are_plain(prefix)
        lib = next(prefix.glob("**/libmuster_sdk.a")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=str(lib / "pkgconfig"), LD_LIBRARY_PATH=str(lib))
        version = run("pkg-config", "--modversion", "muster", env=environment).strip()
        said = f"{version} server_busy\n"

        (work / "in_cxx.cpp").write_text(CXX_PROGRAM, encoding="utf-8")
        (work / "in_c.c").write_text(C_PROGRAM, encoding="utf-8")
        (work / "CMakeLists.txt").write_text(PROJECT.replace("@VERSION@", version), encoding="utf-8")
        run(cmake, "-S", work, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={cxx}", f"-DCMAKE_C_COMPILER={cc}")
        run(cmake, "--build", work / "build")
        for program in ("in_cxx", "in_c", "in_c_shared"):
            check(f"find_package: {program}", run(work / "build" / program) == said)

        def flags(package):
            return run("pkg-config", "--cflags", "--libs", package, env=environment).split()

        plain_c = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
        run(cxx, "-std=c++20", "-Wall", "-Wextra", "-Werror", work / "in_cxx.cpp", "-o", work / "cxx", *flags("muster"))
        run(cc, *plain_c, work / "in_c.c", "-o", work / "c", *flags("muster"))
        run(cc, *plain_c, work / "in_c.c", "-o", work / "c_shared", *flags("muster-c"))
        for program in ("cxx", "c", "c_shared"):
            check(f"pkg-config: {program}", run(work / program, env=environment) == said)

        library = ctypes.CDLL(str(lib / "libmuster.so"))
        library.muster_error_name.restype = ctypes.c_char_p
        check("Python loads the shared library", library.muster_error_name(117) == b"server_busy")
        symbols = run("nm", "-D", "--defined-only", lib / "libmuster.so").splitlines()
        ours = [line.split()[-1] for line in symbols if "muster" in line]
        check("the shared library shows the C interface only", all(name.startswith("muster_") for name in ours))
        needed = run("readelf", "-d", lib / "libmuster.so")
        check("the shared library needs no other library of Muster's build", "fmt" not in needed)


if __name__ == "__main__":
    main()
