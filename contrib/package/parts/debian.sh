# shellcheck shell=bash disable=SC2154
# The Debian packages. Sourced by contrib/package/run.

packages=(carillon carillon-lab carillon-dev)
# Whoever gives packages to others puts his address here, in the variables that Debian's tools have for it.
maintainer="${DEBFULLNAME:-Carillon maintainers} <${DEBEMAIL:-maintainers@carillon.example.org}>"

# What carries the name of a package and stands in contrib/package/debian becomes part of it.
debian_package() {
    local package=$1 root=$roots/$1 control=$roots/$1/DEBIAN architecture=$architecture
    local source=contrib/package/debian doc=$roots/$1/usr/share/doc/$1 depends="" script
    [ "$package" != carillon-dev ] || architecture=all
    rm -rf "$control"
    mkdir -p "$control" "$doc" "$root/usr/share/lintian/overrides"

    put 644 "$source/copyright" "$doc/copyright"
    debian_changelog >"$doc/changelog"
    pack "$doc/changelog"
    if [ -f "$source/$package.lintian-overrides" ]; then
        put 644 "$source/$package.lintian-overrides" "$root/usr/share/lintian/overrides/$package"
    else
        rmdir "$root/usr/share/lintian/overrides" "$root/usr/share/lintian"
    fi
    for script in preinst postinst prerm postrm; do
        [ ! -f "$source/$package.$script" ] || put 755 "$source/$package.$script" "$control/$script"
    done
    [ ! -d "$root/etc" ] || (cd "$root" && find etc -type f -printf '/%p\n' | sort) >"$control/conffiles"
    (cd "$root" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\n' | sort | xargs md5sum) \
        >"$control/md5sums"

    [ "$package" = carillon-dev ] || depends=$(shared_libraries "$package")
    local size
    size=$(du -k --apparent-size -s --exclude=DEBIAN "$root" | cut -f 1)
    sed -e "s|@MAINTAINER@|$maintainer|; s|@VERSION@|$version|; s|@ARCHITECTURE@|$architecture|; s|@LIBRARIES@|$depends|; s|@SIZE@|$size|" \
        "$source/$package.control" >"$control/control"

    local level=()
    [ "$compression" = xz ] || level=(-z1)
    # One thread: what xz writes depends on their number.
    dpkg-deb --root-owner-group "-Z$compression" "${level[@]}" --threads-max=1 --build "$root" \
        "$dist/${package}_${version}_$architecture.deb" >/dev/null
    # The other parts read the folder as it is installed.
    rm -rf "$control"
}

# What of Debian's the package's binaries need.
shared_libraries() {
    local work=$out/shlibdeps files
    rm -rf "$work"
    mkdir -p "$work/debian"
    printf 'Source: carillon\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    mapfile -t files < <(find "$roots/$1/usr" -type f \( -perm /111 -o -name '*.so' \))
    # It says of each of Swift's libraries that no package has it, which is so.
    (cd "$work" && dpkg-shlibdeps -O "-l$roots/carillon/usr/lib/carillon" "${files[@]}" 2>"$work/warnings") |
        sed 's/^shlibs:Depends=//'
}

debian_changelog() {
    printf 'carillon (%s) stable; urgency=medium\n\n' "$version"
    printf '  * Built from commit %s.\n\n' "$commit"
    printf ' -- %s  %s\n' "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

debian_packages() {
    say "Debian packages"
    rm -f "$dist"/*.deb
    for package in "${packages[@]}"; do debian_package "$package"; done
    for file in "$dist"/*.deb; do
        printf '%8.1f MB  %s, %.1f MB installed\n' "$(stat -c %s "$file" | awk '{ print $1 / 1e6 }')" "${file##*/}" \
            "$(dpkg-deb -f "$file" Installed-Size | awk '{ print $1 / 1000 }')"
    done
}
