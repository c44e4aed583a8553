# shellcheck shell=bash disable=SC2154
# The release build of what ships. Sourced by contrib/package/run.

is_built=

# swiftc compiles Swift, this compiles C: hardened, and without naming the folder that it was built in. ccache keeps BoringSSL,
# a fifth of the whole build, for the next one.
compiler() {
    mkdir -p "$out/tools"
    local clang ccache=
    clang=$(readlink -f "$(command -v clang)")
    ! command -v ccache >/dev/null || ccache="ccache "
    printf '#!/bin/sh\nexec %s%s %s "$@"\n' "$ccache" "$clang" \
        "-fstack-protector-strong -D_FORTIFY_SOURCE=2 -ffile-prefix-map=$PWD=/carillon" >"$out/tools/clang.new"
    chmod 755 "$out/tools/clang.new"
    # An unchanged one keeps its time, or SwiftPM would build everything anew.
    cmp -s "$out/tools/clang.new" "$out/tools/clang" || mv "$out/tools/clang.new" "$out/tools/clang"
    rm -f "$out/tools/clang.new"
}

# Debian releases differ in the name of libsecp256k1's shared library, so the programs carry Debian's static one. pkg-config names
# a folder that has only the static one, and names it first for each library: the linker takes the first folder that has the
# library. contrib/package/run check tests the result.
static_libraries() {
    local folder name
    folder=$(pkg-config --variable=libdir libsecp256k1)
    [ -f "$folder/libsecp256k1.a" ] || die "cannot find $folder/libsecp256k1.a: install libsecp256k1-dev (contrib/setup does)"
    mkdir -p "$out/static"
    ln -sfn "$folder/libsecp256k1.a" "$out/static/libsecp256k1.a"
    for name in $(sed -n 's/.*library("C[A-Za-z0-9]*", "\([^"]*\)".*/\1/p' Package.swift); do
        sed "s|^Libs:|Libs: -L$out/static|" "$(pkg-config --variable=pcfiledir "$name")/$name.pc" >"$out/static/$name.pc"
    done
}

build() {
    [ -z "$is_built" ] || return 0
    is_built=yes
    say "Release build of $version ($commit)"
    compiler
    static_libraries
    PKG_CONFIG_PATH=$out/static CARILLON_PACKAGE=1 CARILLON_COMMIT=$commit CC=$out/tools/clang CCACHE_DIR=${CCACHE_DIR:-$PWD/.build/ccache} \
        swift build -c release --scratch-path "$scratch" --disable-local-rpath -debug-info-format none
}
