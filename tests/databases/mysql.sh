#!/bin/sh
# A MySQL of Debian's unstable suite in a directory of its own (FSTUI_MYSQL, else /var/tmp/fstui-mysql), for the tests.
# Its mysqld runs under that directory's own dynamic loader, so the system beneath stays what it is. As root.
set -eu
place=${FSTUI_MYSQL:-/var/tmp/fstui-mysql}
[ -x "$place/bin/mysqld" ] && exit 0
command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; exit 1; }
mirror=$(sed -n 's/^[[:space:]]*\(URIs:\|deb \(\[[^]]*\] \)\?\)[[:space:]]*\(https\?:[^ ]*\).*/\3/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep debian | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo "no Debian mirror stands in /etc/apt/sources.list*" >&2; exit 1; }
mkdir -p "$place"
debootstrap --variant=minbase --include=mysql-server-core unstable "$place/root" "$mirror"
loader=$(find "$place/root/lib64/" "$place/root/lib/" -maxdepth 1 -name 'ld-linux*' | head -n 1)
libraries=$(dirname "$(find "$place/root/usr/lib" -name 'libc.so.6' | head -n 1)")
mkdir -p "$place/bin"
cat >"$place/bin/mysqld" <<END
#!/bin/sh
exec "$loader" --library-path "$libraries:$place/root/usr/lib/mysql/private" "$place/root/usr/sbin/mysqld" "\$@" \\
    --lc-messages-dir="$place/root/usr/share/mysql" --secure-file-priv=NULL
END
chmod +x "$place/bin/mysqld"
"$place/bin/mysqld" --version
