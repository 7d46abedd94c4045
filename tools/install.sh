# Sourced by ./run, after setup.sh and build.sh: what it does besides starting Muster. $root is the source tree.
# shellcheck shell=bash disable=SC2154  # root is set by whoever sources it

# package: the Debian packages, in build/packages.
package() {
    if [ $# -gt 0 ]; then echo "usage: ./run package" >&2; return 64; fi
    need_packages build bench package || return
    need_command npm page || echo "run: without npm the page is left out" >&2
    (
        cd "$root" && lock_folder daemon && configure daemon && cmake -DMUSTER_BENCH=ON build/daemon >build/daemon/configure.log 2>&1 ||
            exit 1
        build daemon || exit 1
        rm -rf build/packages
        cpack -G DEB --config build/daemon/CPackConfig.cmake -B build/packages >build/daemon/package.log 2>&1 ||
            { cat build/daemon/package.log >&2; exit 1; }
        rm -rf build/packages/_CPack_Packages
    ) || { bad "packing failed"; return 1; }
    echo "wrote:"
    printf '  %s\n' "$root"/build/packages/*.deb
    echo "install the daemon:  sudo apt install $(echo "$root"/build/packages/muster_*.deb)"
}

# install_sdk --prefix DIR: headers, libraries, and the files for CMake and pkg-config; asks sudo where only root may write.
# Says what a compiler and the loader need to be told, when DIR is not a place where they look by themselves.
install_sdk() {
    local prefix=""
    case "${1:-}" in
        --prefix) if [ $# -eq 2 ]; then prefix=$2; fi ;;
        --prefix=*) if [ $# -eq 1 ]; then prefix=${1#--prefix=}; fi ;;
    esac
    if [ -z "$prefix" ]; then
        echo "usage: ./run install-sdk --prefix DIR      (such as /usr/local)" >&2
        return 64
    fi
    prefix=$(realpath -m "$prefix")
    need_packages build || return
    (
        cd "$root" && lock_folder daemon && build daemon muster_sdk_bundle muster_c || exit 1
        for component in sdk library; do
            as_owner "$prefix" cmake --install build/daemon --prefix "$prefix" --component "$component" >/dev/null || exit 1
        done
    ) || { bad "installing the SDK failed"; return 1; }
    echo "# installed the SDK in $prefix"
    tell_paths "$prefix"
}

# as_owner DIR COMMAND…: as somebody who may write to DIR, which need not exist yet.
as_owner() {
    local there=$1
    until [ -d "$there" ]; do there=$(dirname "$there"); done
    if [ -w "$there" ]; then "${@:2}"; else sudo "${@:2}"; fi
}

# tell_paths PREFIX: lines for a shell, for whatever does not look there by itself.
tell_paths() {
    local libdir found
    libdir=$(dirname "$(find "$1" -name libmuster_sdk.a -print -quit)")
    if [ "$(id -u)" -eq 0 ]; then ldconfig; fi
    found=$(PKG_CONFIG_PATH="" pkg-config --variable=pcfiledir muster 2>/dev/null)
    if [ "$found" != "$libdir/pkgconfig" ]; then echo "export PKG_CONFIG_PATH='$libdir/pkgconfig'"; fi
    if ! PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -qF " $libdir/libmuster.so."; then
        echo "export LD_LIBRARY_PATH='$libdir'  # for libmuster.so, the C interface"
    fi
}
