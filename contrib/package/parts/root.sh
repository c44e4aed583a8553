# shellcheck shell=bash
# A Debian without a toolchain, as .build/package/debian-RELEASE.tar; made once. Sourced.

# debian_root RELEASE [fresh]
debian_root() {
    local release=$1 tar=.build/package/debian-$1.tar work=.build/package/debootstrap log=.build/package/debootstrap.log
    [ "${2:-}" != fresh ] || rm -f "$tar"
    [ ! -f "$tar" ] || return 0
    echo "== Debian $release by debootstrap"
    rm -rf --one-file-system "$work"
    mkdir -p .build/package
    command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        return 1
    }
    debootstrap --variant=minbase "$release" "$work" >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        return 1
    }
    tar -C "$work" -cf "$tar" .
    rm -rf --one-file-system "$work"
}
