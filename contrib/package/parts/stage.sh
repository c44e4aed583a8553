# shellcheck shell=bash disable=SC2154
# The folders that become packages, as they are installed. Sourced by contrib/package/run.

is_staged=

put() { install -D -m "$1" "$2" "$3"; }

# A program or library without what only a debugger reads.
put_stripped() {
    put "$1" "$2" "$3"
    strip --strip-unneeded --remove-section=.comment "$3"
    [[ $2 != "$built"/* ]] || settle_hashes "$3"
}

# The compiler's hash of a module sometimes differs where its code is the same, and so does the linker's id of the whole. The
# first is blanked, the second becomes that of what is left. (To remove the sections would cost the header of RELRO.)
settle_hashes() {
    local file=$1 offset size id
    while read -r offset size; do
        overwrite "$file" "$((16#$offset))" <(head -c "$((16#$size))" /dev/zero)
    done < <(section "$file" .swift_modhash)
    while read -r offset size; do
        offset=$((16#$offset + 16)) size=$((16#$size - 16))
        overwrite "$file" "$offset" <(head -c "$size" /dev/zero)
        id=$(sha256sum "$file" | cut -c "1-$((2 * size))" | sed 's/../\\x&/g')
        # shellcheck disable=SC2059
        overwrite "$file" "$offset" <(printf "$id")
    done < <(section "$file" .note.gnu.build-id)
}

# Where a section lies in a file, and its size; nothing where there is none.
section() { readelf -SW "$1" | awk -v name="$2" '{ sub(/^ *\[ *[0-9]*\]/, "") } $1 == name { print $4, $5 }'; }

overwrite() { dd if="$3" of="$1" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none; }

# Swift's libraries that these binaries need, directly or through each other.
swift_libraries() {
    LD_LIBRARY_PATH=$runtime ldd "$@" | awk -v folder="$runtime/" '$2 == "=>" && index($3, folder) == 1 { print $3 }' | sort -u
}

# The same text with the same date is the same file, packed.
pack() { gzip -9nf "$1"; }

# A program as it was built. It looks for Swift's libraries where a package has them, and there are none yet.
run_built() { LD_LIBRARY_PATH=$runtime "$built/$1" "${@:2}"; }

completions() {
    local command=$1 root=$2
    mkdir -p "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" \
        "$root/usr/share/fish/vendor_completions.d"
    # Completions are read, not run: they need no first line that says by what.
    run_built "$command" --generate-completion-script bash | sed '1{/^#!/d}' >"$root/usr/share/bash-completion/completions/$command"
    run_built "$command" --generate-completion-script zsh >"$root/usr/share/zsh/vendor-completions/_$command"
    run_built "$command" --generate-completion-script fish >"$root/usr/share/fish/vendor_completions.d/$command.fish"
}

manual() {
    local command=$1 root=$2
    mkdir -p "$root/usr/share/man/man1"
    run_built "$command" --experimental-dump-help |
        python3 contrib/package/parts/manual.py "$command" "$release" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)" \
            "$root/usr/share/man/man1"
    for page in "$root/usr/share/man/man1/"*.1; do pack "$page"; done
}

stage_router() {
    local root=$roots/carillon library file
    local lib=$root/usr/lib/carillon
    put_stripped 755 "$built/carillon" "$root/usr/bin/carillon"
    put_stripped 755 "$built/carillon-plugin-host" "$lib/carillon-plugin-host"
    put_stripped 644 "$built/libcarillon-confinement.so" "$lib/libcarillon-confinement.so"
    for library in "$built"/libCarillon*.so; do put_stripped 644 "$library" "$lib/plugins/${library##*/}"; done
    while read -r library; do
        put_stripped 644 "$library" "$lib/${library##*/}"
    done < <(swift_libraries "$built/carillon" "$built/carillon-lab" "$built/carillon-plugin-host" "$built"/libCarillon*.so)
    while read -r file; do
        put 644 "Sources/PluginHost/PluginHost/Python/$file" "$lib/$file"
    done < <(cd Sources/PluginHost/PluginHost/Python && find carillon-plugin-python -name '*.py' | sort)

    put 644 contrib/package/carillon.yaml "$root/etc/carillon/carillon.yaml"
    install -d -m 750 "$root/etc/carillon/secrets" "$root/var/lib/carillon"
    mkdir -p "$root/lib/systemd/system"
    # A user that stays, so that commands and files of keys can be its own.
    sed -e 's|/usr/local/bin|/usr/bin|; s|file:/usr/local/share/doc/carillon/README.md|man:carillon(1)|' \
        -e 's|^# A separate user that exists.*|# The package creates the user. Identity, store and token are in /var/lib/carillon.|' \
        -e 's|^DynamicUser=yes|User=carillon\nGroup=carillon|' \
        -e 's|See README.txt in the same folder|See /usr/share/doc/carillon/systemd.txt|' \
        contrib/systemd/carillon.service >"$root/lib/systemd/system/carillon.service"
    for file in contrib/schema/*.json; do put 644 "$file" "$root/usr/share/carillon/schema/${file##*/}"; done

    local doc=$root/usr/share/doc/carillon
    put 644 README.md "$doc/README.md"
    put 644 SECURITY.md "$doc/SECURITY.md"
    while read -r file; do
        put 644 "contrib/docs/$file" "$doc/docs/$file"
    done < <(cd contrib/docs && find . \( -name '*.md' -o -name '*.svg' \) -printf '%P\n' | sort)
    while read -r file; do
        put 644 "contrib/monitoring/$file" "$doc/monitoring/$file"
    done < <(cd contrib/monitoring && find . -type f -printf '%P\n' | sort)
    put 644 contrib/systemd/README.txt "$doc/systemd.txt"
    put 644 contrib/examples/carillon.yaml "$doc/examples/carillon.yaml"
    put 644 contrib/examples/unseal.py "$doc/examples/unseal.py"
    for file in contrib/examples/rules/*.yaml contrib/examples/push-services/*.yaml; do
        put 644 "$file" "$doc/examples/${file#contrib/examples/}"
    done
    completions carillon "$root"
    manual carillon "$root"
}

stage_lab() {
    local root=$roots/carillon-lab
    put_stripped 755 "$built/carillon-lab" "$root/usr/bin/carillon-lab"
    completions carillon-lab "$root"
    manual carillon-lab "$root"
}

stage_headers() {
    local root=$roots/carillon-dev file
    for file in include/carillon/*.h; do put 644 "$file" "$root/usr/${file}"; done
    put 644 include/carillon/describe.schema.json "$root/usr/share/carillon/schema/describe.schema.json"
    mkdir -p "$root/usr/share/pkgconfig"
    sed 's|@PREFIX@|/usr|' contrib/pkgconfig/carillon.pc.in >"$root/usr/share/pkgconfig/carillon.pc"
    for file in contrib/examples/plugins/*; do
        put 644 "$file" "$root/usr/share/doc/carillon-dev/examples/${file##*/}"
    done
    (cd contrib/bindings && find rust -type f -not -path '*/target/*' -not -name .gitignore | sort) | while read -r file; do
        put 644 "contrib/bindings/$file" "$root/usr/share/doc/carillon-dev/examples/bindings/$file"
    done
}

stage() {
    [ -z "$is_staged" ] || return 0
    is_staged=yes
    build
    say "Folders of the packages"
    rm -rf "$roots"
    mkdir -p "$roots" "$dist"
    stage_router
    stage_lab
    stage_headers
}
