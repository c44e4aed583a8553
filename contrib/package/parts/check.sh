# shellcheck shell=bash disable=SC2016,SC2119,SC2154
# What was built, looked at without installing it. Sourced by contrib/package/run.

flaws=()
flaw() { flaws+=("$*"); echo "  $*" >&2; }

binaries() { find "$roots" -type f \( -perm /111 -o -name '*.so' \) -print0 | xargs -0 file | grep ELF | cut -d : -f 1 | sort; }

# Ours are hardened in full. Swift's own libraries are as Swift ships them.
check_hardening() {
    local file ours headers dynamic
    while read -r file; do
        headers=$(readelf -lW "$file")
        dynamic=$(readelf -dW "$file")
        grep -q GNU_RELRO <<<"$headers" || flaw "$file: no RELRO"
        grep 'GNU_STACK' <<<"$headers" | grep 'RWE' >/dev/null && flaw "$file: the stack can be executed"
        grep -q 'Type: *DYN' < <(readelf -h "$file") || flaw "$file: not position independent"
        readelf -SW "$file" | grep ' \.\(symtab\|debug_info\) ' >/dev/null && flaw "$file: not stripped"
        case ${file##*/} in
            carillon* | libCarillon* | libcarillon*) ours=yes ;;
            *) ours= ;;
        esac
        if [ -n "$ours" ]; then
            grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" || flaw "$file: not bound when loaded (-z now)"
            grep -qE '(RUNPATH|RPATH).*\[\$ORIGIN[^:]*\]' <<<"$dynamic" ||
                [[ $file = *confinement* ]] || flaw "$file: RUNPATH is not \$ORIGIN/… alone"
        fi
        grep -qE '(RUNPATH|RPATH).*[^$]/(opt|home|usr|work)' <<<"$dynamic" && flaw "$file: RUNPATH leads out of the package"
    done < <(binaries)
    # grep reads to the end: with -q it would stop, and a program that is cut off counts as failed.
    readelf -W --dyn-syms "$roots/carillon/usr/bin/carillon" | grep __stack_chk_fail >/dev/null || flaw "carillon: no stack protector"
    echo "hardening of $(binaries | wc -l) binaries: looked at"
}

# Each library that is needed is in the package or is Debian's.
check_libraries() {
    local file needed
    while read -r file; do
        while read -r needed; do
            [ -e "$roots/carillon/usr/lib/carillon/$needed" ] || ldconfig -p | grep -F "$needed " >/dev/null || [[ $needed = ld-linux* ]] ||
                flaw "$file: needs $needed, which is neither packed nor Debian's"
        done < <(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    done < <(binaries)
    echo "needed libraries: looked at"
}

# Debian releases differ in its name; build.sh links it in.
check_static() {
    local file
    while read -r file; do
        ! readelf -dW "$file" | grep -F 'libsecp256k1' >/dev/null || flaw "$file: needs libsecp256k1 of the system"
    done < <(binaries)
}

check_lists() {
    local file
    for file in usr/bin/carillon usr/lib/carillon/carillon-plugin-host usr/lib/carillon/libcarillon-confinement.so \
        usr/lib/carillon/carillon-plugin-python/__main__.py etc/carillon/carillon.yaml lib/systemd/system/carillon.service; do
        [ -e "$roots/carillon/$file" ] || flaw "the package carillon has no $file"
    done
    for file in $(sed -n '/^let pluginNames/,/^]/p' Package.swift | grep -o '"[A-Za-z]*"' | tr -d '"'); do
        [ -e "$roots/carillon/usr/lib/carillon/plugins/libCarillon$file.so" ] || flaw "the plugin $file is not in the package"
    done
    ! grep -rqlF "$PWD/" "$roots"/*/etc "$roots"/*/lib "$roots"/*/usr/share 2>/dev/null || flaw "a file names the folder of the build"
}

check_debian() {
    ls "$dist"/*.deb >/dev/null 2>&1 || return 0
    command -v lintian >/dev/null || { echo "lintian is not installed; left out"; return 0; }
    # In an order of its own each time: errors decide, warnings are shown.
    lintian --allow-root --fail-on error "$dist"/*.deb || flaw "lintian found errors"
}

check_sbom() {
    local file venv=$out/venv
    file=$(ls "$dist"/*.spdx.json 2>/dev/null) || return 0
    if [ ! -x "$venv/bin/pyspdxtools" ]; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check spdx-tools==0.8.5
    fi
    "$venv/bin/pyspdxtools" -i "$file" || flaw "$file: no valid SPDX"
    echo "SBOM: $(grep -c '"SPDXID": "SPDXRef-' "$file") entries, valid"
}

check() {
    say "Checks"
    [ -d "$roots/carillon" ] || die "there is nothing to look at; run contrib/package/run stage first"
    check_hardening
    check_libraries
    check_static
    check_lists
    check_debian
    check_sbom
    (cd "$dist" && [ ! -f SHA256SUMS ] || sha256sum --quiet -c SHA256SUMS) || flaw "SHA256SUMS do not hold"
    [ ${#flaws[@]} -eq 0 ] || die "${#flaws[@]} flaws"
    echo "no flaws"
}
