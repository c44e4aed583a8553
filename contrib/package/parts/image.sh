# shellcheck shell=bash disable=SC2016,SC2119,SC2154
# The container image, by buildah, and a look at whether it runs. Sourced by contrib/package/run.

. contrib/package/parts/root.sh

# Everything that buildah keeps lies in a folder of its own; no container engine is needed or touched.
buildah_here() {
    BUILDAH_ISOLATION=chroot buildah --root "$out/images" --runroot "$out/images-run" --storage-driver "${STORAGE_DRIVER:-vfs}" "$@"
}

image() {
    command -v buildah >/dev/null || die "buildah is missing: apt-get install buildah"
    ls "$dist"/carillon_*.deb >/dev/null 2>&1 || die "there are no packages; run contrib/package/run deb first"
    say "Image"
    local container
    if [ "$base" = bootstrap ]; then
        debian_root bookworm
        base=localhost/carillon-debian
        container=$(buildah_here from scratch)
        buildah_here add -q "$container" "$out/debian-bookworm.tar" / >/dev/null
        buildah_here commit -q "$container" "$base" >/dev/null
        buildah_here rm "$container" >/dev/null
    fi
    # A folder with what the stages read and nothing else.
    local context=$out/context
    rm -rf "$context"
    mkdir -p "$context/.build/package/dist"
    cp "$dist"/carillon_*.deb "$context/.build/package/dist/"
    # The stage that builds from source is left out: buildah would fetch what it starts from.
    sed '/^FROM ${SWIFT} AS build/,/^$/d' contrib/package/Dockerfile >"$context/Dockerfile"
    buildah_here bud -q --format docker --build-arg "DEBIAN=$base" --build-arg PACKAGES=given -t carillon "$context"
    rm -rf "$context"
    image_runs
}

# Starts it as an engine would, asks after its health as an engine would, and ends it by the signal that the image names.
image_runs() {
    local container
    container=$(buildah_here from --pull-never carillon)
    buildah_here run "$container" -- /usr/bin/carillon --version
    buildah_here run "$container" -- /usr/bin/carillon check --config /etc/carillon/carillon.yaml
    buildah_here run "$container" -- /bin/sh -c '
        [ "$(id -un)" = carillon ] || { echo "runs as $(id -un)" >&2; exit 1; }
        carillon serve --config /etc/carillon/carillon.yaml >/tmp/log 2>&1 &
        router=$!
        for try in $(seq 60); do
            curl -fsS --unix-socket /var/lib/carillon/carillon.sqlite-admin/socket http://localhost/healthz 2>/dev/null && break
            sleep 0.5
        done || { cat /tmp/log; exit 1; }
        kill -TERM $router
        wait $router && echo " healthy; ended by SIGTERM in good order" || { cat /tmp/log; exit 1; }'
    buildah_here rm "$container" >/dev/null
}
