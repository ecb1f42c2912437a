# Unpack once: into FSTUI_UNPACK, otherwise into the first usable directory that belongs to this user.
fstui_finds_python() {
    for fstui_python in python3 python3.14 python3.13 python3.12 python3.11; do
        "$fstui_python" -c 'import os, sys
cpython = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 15)
sys.exit(not (cpython and os.uname().machine in ("x86_64", "aarch64")))' 2>/dev/null && return 0
    done
    echo "fstui: this file needs CPython 3.11, 3.12, 3.13 or 3.14 on x86-64 or aarch64, but PATH contains none of them" >&2
    exit 2
}
fstui_owns() {  # not a link, and this user's: below a directory with the sticky bit, no other user can replace it
    set -- $(ls -ldn -- "$1" 2>/dev/null)
    case ${1:-} in d*) [ "$3" = "$(id -u)" ] ;; *) return 1 ;; esac
}
fstui_takes() {
    if ! fstui_owns "$1" || [ ! -O "$1/.runs" ] || [ ! -x "$1/.runs" ] || [ ! -w "$1" ]; then
        fstui_finds_python
        mkdir -p -m 700 "$1" 2>/dev/null || return 1
        fstui_owns "$1" || return 1
        { echo 'the directory that fstui.pyz was unpacked into; it may be removed' >"$1/.runs"; } 2>/dev/null || return 1
        chmod 700 "$1/.runs" && [ -x "$1/.runs" ] || return 1
        echo "fstui: unpacking into $1, only at the first start. To choose another directory, set FSTUI_UNPACK" >&2
    fi
    PEX_ROOT=$1/$(uname -m)
    export PEX_ROOT
}
fstui_unpacks() {
    if [ -n "${FSTUI_UNPACK:-}" ]; then
        fstui_takes "$FSTUI_UNPACK" && return 0
        echo "fstui: FSTUI_UNPACK=$FSTUI_UNPACK is not writable, belongs to another user, is full, or is mounted noexec" >&2
        exit 2
    fi
    if [ -n "${HOME:-}" ] && [ -O "$HOME" ]; then
        fstui_takes "${XDG_CACHE_HOME:-$HOME/.cache}/fstui" && return 0
    fi
    fstui_user=$(id -u)
    for fstui_place in /var/tmp /tmp /dev/shm; do
        [ -k "$fstui_place" ] && fstui_takes "$fstui_place/fstui-$fstui_user" && return 0
    done
    echo "fstui: cannot unpack this file: the cache directory of $(id -un), /var/tmp, /tmp and /dev/shm are not" \
        "writable, are full, or are mounted noexec. Set FSTUI_UNPACK to another directory" >&2
    exit 2
}
[ -n "${PEX_ROOT:-}" ] || fstui_unpacks
# pex needs a directory for temporary files, and a container with a read-only root has none.
if [ -z "${TMPDIR:-}" ] && [ ! -w /tmp ] && [ ! -w /var/tmp ]; then
    mkdir -p "$PEX_ROOT"
    TMPDIR=$PEX_ROOT
    export TMPDIR
fi
# Run what was unpacked earlier if its Python still exists. In a file with wheels for several platforms, pex itself
# expects another name, and would unpack again.
for fstui_unpacked in "$PEX_ROOT"/@VENVS@/*/bin/fstui; do
    case $fstui_unpacked in *.lck*) continue ;; esac
    if [ -x "$fstui_unpacked" ] && [ -x "${fstui_unpacked%/fstui}/python" ]; then
        PEX=$0
        export PEX
        exec "$fstui_unpacked" "$@"
    fi
done
fstui_finds_python
