# shellcheck shell=bash disable=SC2154
# One folder that runs wherever it is unpacked, and what comes with everything: SBOM and sums. Sourced by contrib/package/run.

tarball() {
    say "Tarball"
    local name root package
    name=carillon-$version-linux-$(uname -m)
    root=$out/$name
    rm -rf "$root" "$dist"/*.tar.*
    mkdir -p "$root"
    for package in carillon carillon-lab carillon-dev; do cp -r --preserve=mode "$roots/$package/usr/." "$root/"; done
    rm -rf "$root/share/lintian" "$root/share/doc/"*/changelog*
    put 644 contrib/package/debian/copyright "$root/share/doc/carillon/copyright"
    put 644 LICENSE "$root/LICENSE"
    put 644 contrib/package/tarball.txt "$root/README.txt"
    put 644 contrib/systemd/carillon.service "$root/share/doc/carillon/carillon.service"
    # pkg-config knows what pcfiledir is.
    # shellcheck disable=SC2016
    sed 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$roots/carillon-dev/usr/share/pkgconfig/carillon.pc" \
        >"$root/share/pkgconfig/carillon.pc"
    # Paths start from the configuration's folder: state lies beside it.
    sed -e 's|/var/lib/carillon/|state/|g; s|/usr/lib/carillon|lib/carillon|g; s|/usr/share/doc|share/doc|g' \
        -e 's|/etc/carillon/||g' contrib/package/carillon.yaml >"$root/carillon.yaml"
    install -d -m 700 "$root/state" "$root/secrets"
    local suffix=xz filter=(xz -6 -T1)
    [ "$compression" = xz ] || { suffix=gz; filter=(gzip -1n); }
    tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu -cf - "$name" |
        "${filter[@]}" >"$dist/$name.tar.$suffix"
    rm -rf "$root"
    printf '%8.1f MB  %s\n' "$(stat -c %s "$dist/$name.tar.$suffix" | awk '{ print $1 / 1e6 }')" "$name.tar.$suffix"
}

sbom() {
    say "SBOM"
    rm -f "$dist"/*.spdx.json "$dist"/*.Package.resolved
    mkdir -p "$dist"
    # The versions of Swift packages, for who builds the same commit later.
    put 644 Package.resolved "$dist/carillon-$version.Package.resolved"
    python3 contrib/package/parts/sbom.py --version "$version" --commit "$commit" --date "$SOURCE_DATE_EPOCH" \
        --build "$built" --runtime "$runtime" --resolved Package.resolved >"$dist/carillon-$version.spdx.json"
}

sums() { (cd "$dist" && rm -f SHA256SUMS && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .); }
