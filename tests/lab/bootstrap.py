"""How a guest image is made: debootstrap into a directory, a kernel beside it, then ``mke2fs -d``."""

import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab import LabUnavailable
from tests.lab.initrd import initrd, needed_files
from tests.lab.recipe import Recipe

UNWANTED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt", "var/lib/apt")


def make(recipe: Recipe, root: Path, made: Path) -> None:
    """What QEMU boots, in ``made``; ``root`` is its files, left behind. Raises LabUnavailable."""
    made.mkdir()
    _bootstrap(root, recipe)
    release = _install_kernel(root, recipe)
    if recipe.built:
        _build_modules(root, recipe, release)
    if recipe.servers:
        _install_servers(root, recipe.servers)
    _install_requirements(root, recipe)
    _prepare(root)
    (made / "initrd.gz").write_bytes(initrd(root, release, recipe.boot_modules))
    (made / "kernel").write_bytes(_unpacked((root / "boot" / f"vmlinuz-{release}").read_bytes()))
    _write_image(root, made / "root.img")


def _run(*command: str | Path, **more: str) -> str:
    done = subprocess.run(
        ["nice", "-n", "10", *map(str, command)],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise LabUnavailable(f"{' '.join(map(str, command))[:200]} failed ({done.returncode}):\n{said}")
    return done.stdout


def _in(root: Path, script: str) -> str:
    """Run in the image, with a /proc that vanishes with the script's own mount namespace."""
    enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -ec "$1"'
    command = ("unshare", "--mount", "/bin/sh", "-ec", enter, root, script)
    return _run(*command, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8")


def _mirror() -> str:
    """Address of this machine's own Debian archive, from its apt configuration; every release is in it."""
    targets = _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)")
    for line in targets.splitlines():
        uri, codename, component, origin = line.split(maxsplit=3)
        if origin == "Debian" and component == "main" and "-" not in codename:
            return uri
    raise LabUnavailable(
        "apt knows no Debian archive here (after apt-get update): the guest is made of Debian's packages"
    )


def _bootstrap(root: Path, recipe: Recipe) -> None:
    uri = _mirror()
    _run("debootstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}", recipe.release, root, uri)
    (root / "etc/apt/sources.list").write_text(f"deb {uri} {recipe.release} main contrib\n")
    _in(root, "apt-get update -q")


def _install_kernel(root: Path, recipe: Recipe) -> str:
    """Unpack the kernel and the modules wanted; its release. Installing it would build an initrd of everything."""
    script = f"""cd /tmp
package=$(apt-cache depends {recipe.kernel_package} | sed -n 's/ *Depends: \\(linux-image-[0-9]\\)/\\1/p' | head -n 1)
apt-get download -q "$package" >&2
dpkg-deb -x linux-image-*.deb kernel && rm linux-image-*.deb
echo "${{package#linux-image-}}"
"""
    release = _in(root, script).split()[-1]
    unpacked = root / "tmp/kernel"
    shutil.copytree(unpacked / "boot", root / "boot", dirs_exist_ok=True)
    library = root / "lib/modules" / release
    [modules] = unpacked.glob(f"**/lib/modules/{release}")  # below /usr from trixie on
    shutil.copytree(modules, library)
    shutil.rmtree(unpacked)
    _in(root, f"depmod {release}")
    kept = set(needed_files(library, recipe.modules))
    for file in library.rglob("*.ko*"):
        if str(file.relative_to(library)) not in kept:
            file.unlink()
    _in(root, f"depmod {release}")
    return release


def _unpacked(kernel: bytes) -> bytes:
    """Unpack the kernel of Debian 12, because its xz takes 4 s in the guest. Debian 13's zstd takes less than 1 s."""
    start = kernel.find(b"\xfd7zXZ\0")
    return kernel if start < 0 else lzma.LZMADecompressor().decompress(kernel[start:])


def _build_modules(root: Path, recipe: Recipe, release: str) -> None:
    script = f"""apt-get install -q -y --no-install-recommends linux-headers-{release} >&2
apt-get install -q -y --no-install-recommends {" ".join(recipe.built)} >&2
dkms autoinstall -k {release} >&2
cp -a /lib/modules/{release}/updates /tmp/updates  # dkms takes them back when the headers go
compilers=$(dpkg-query -W -f '${{Package}}\n' | grep -E '^(gcc|g[+][+]|cpp)-[0-9]+(-x86-64-linux-gnu)?$')
apt-get purge -q -y 'linux-headers-*' 'linux-kbuild-*' $compilers make >&2 || true
mkdir -p /lib/modules/{release}/updates && cp -a /tmp/updates/. /lib/modules/{release}/updates/
depmod {release}
"""
    _in(root, script)


def _install_servers(root: Path, packages: tuple[str, ...]) -> None:
    (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    (root / "etc/postgresql-common").mkdir()
    (root / "etc/postgresql-common/createcluster.conf").write_text("create_main_cluster = false\n")
    options = "-q -y --no-install-recommends -o Dpkg::Options::=--force-confold"
    _in(root, f"apt-get install {options} {' '.join(packages)} >&2")


def _install_requirements(root: Path, recipe: Recipe) -> None:
    """For the guest's Python, which need not be the host's."""
    version = _in(root, "python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").strip()
    site = root / "lab/site"
    _run(
        sys.executable, "-m", "pip", "install", "--quiet", "--target", site, "--python-version", version,
        "--only-binary=:all:", *recipe.requirements,
    )  # fmt: skip
    _in(root, "python3 -m compileall -q /lab/site || true")


def _prepare(root: Path) -> None:
    (root / "var/lib/lab").mkdir()
    (root / "etc/lvm/lvm.conf").write_text(
        "backup {\n  backup = 0\n  archive = 0\n}\ndevices {\n  use_devicesfile = 0\n}\n"
    )
    # ext4 would go on to write its inode tables while it is measured
    configuration = root / "etc/mke2fs.conf"
    lazy = "[defaults]\n\tlazy_itable_init = 0\n\tlazy_journal_init = 0\n"
    configuration.write_text(configuration.read_text().replace("[defaults]\n", lazy))
    (root / "usr/local/bin/fstui").write_text(
        "#!/bin/sh\nPYTHONPATH=/run/lab:/lab/site exec python3 -c "
        '\'import sys; sys.argv[0] = "fstui"; from fstui.cli import main; main()\' "$@"\n'
    )
    (root / "usr/local/bin/fstui").chmod(0o755)
    for unwanted in UNWANTED:
        shutil.rmtree(root / unwanted, ignore_errors=True)
    # arrays are put together by the machine's own file, not by a race
    (root / "lib/udev/rules.d/64-md-raid-assembly.rules").unlink(missing_ok=True)
    for directory in ("boot", "tmp", "dev"):
        for path in (root / directory).iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


def _write_image(root: Path, image: Path) -> None:
    used = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_symlink())
    size_mib = int(used * 1.25 / 2**20) + 64
    _run("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", root, image, f"{size_mib}M")
