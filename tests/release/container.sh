# The file as the manifests run it: $1 the root directory, $2 the volume, $3 the file's directory. In namespaces of its own.
set -e
mount --bind "$1" "$1"
mkdir -p "$1/data" "$1/opt/fstui" "$1/unpacked"
mount --bind "$2" "$1/data"
mount --bind "$3" "$1/opt/fstui"
mount -o remount,bind,ro "$1/opt/fstui"
mount -t tmpfs tmpfs "$1/unpacked"
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/dev"
for device in null zero random urandom; do
    touch "$1/dev/$device"
    mount --bind "/dev/$device" "$1/dev/$device"
done
mount -o remount,bind,ro "$1"
exec setpriv --no-new-privs --inh-caps -all \
    --bounding-set -all,+chown,+dac_override,+fowner,+setuid,+setgid,+kill,+sys_chroot \
    chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin FSTUI_UNPACK=/unpacked/fstui XDG_STATE_HOME=/unpacked/state \
    /opt/fstui/fstui.pyz check /data --yes --fail-on suspicious --fail-on slow
