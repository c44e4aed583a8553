# shellcheck shell=bash
# A Debian without a toolchain, as .build/package/debian.tar; made once. Sourced.

# shellcheck disable=SC2120
debian_root() {
    [ "${1:-}" != fresh ] || rm -f .build/package/debian.tar
    [ ! -f .build/package/debian.tar ] || return 0
    command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; return 1; }
    echo "== Debian by debootstrap"
    local work=.build/package/debootstrap
    rm -rf --one-file-system "$work"
    mkdir -p .build/package
    debootstrap --variant=minbase bookworm "$work" >.build/package/debootstrap.log 2>&1 || {
        tail -n 5 .build/package/debootstrap.log >&2
        return 1
    }
    tar -C "$work" -cf .build/package/debian.tar .
    rm -rf --one-file-system "$work"
}
