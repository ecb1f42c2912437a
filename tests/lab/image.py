"""The guest images: debootstrap into a directory, a kernel beside it, then ``mke2fs -d``. Kept outside the checkout."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.lab.initrd import initrd, needed_files
from tests.lab.recipe import GUEST, Recipe

RUN_TOOLS = ("qemu-system-x86_64", "nbdkit", "mke2fs")
BUILD_TOOLS = ("debootstrap", "apt-get")
KEPT_S = 86400
"""An image that is not of today's recipe is kept so long: another checkout may be using it."""
UNWANTED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt", "var/lib/apt")


class LabUnavailable(Exception):  # noqa: N818  not an error of the laboratory's
    """The laboratory cannot run here; the message says what is missing."""


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """What QEMU boots."""

    root: Path
    kernel: Path
    initrd: Path


def cache_directory() -> Path:
    """Where images are kept: FSTUI_LAB_CACHE, else in the XDG cache directory."""
    if given := os.environ.get("FSTUI_LAB_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fstui-lab"


def missing_tools(tools: Sequence[str] = RUN_TOOLS) -> list[str]:
    return [tool for tool in tools if shutil.which(tool) is None and not Path("/usr/sbin", tool).exists()]


def cached(recipe: Recipe) -> Image | None:
    """The image of that recipe, or None where it has not been built yet."""
    directory = cache_directory() / f"{recipe.name}-{recipe.digest}"
    image = Image(root=directory / "root.img", kernel=directory / "vmlinuz", initrd=directory / "initrd.gz")
    return image if directory.is_dir() else None


def build(recipe: Recipe) -> Image:
    """The image, built now if it is not there. Raises LabUnavailable, CalledProcessError."""
    with _lock():
        if (image := cached(recipe)) is None:
            if missing := missing_tools(BUILD_TOOLS):
                raise LabUnavailable(f"not installed: {', '.join(missing)}")
            if os.geteuid() != 0:
                raise LabUnavailable("building the guest image needs root (debootstrap)")
            _make(recipe)
            image = cached(recipe)
    assert image is not None
    return image


@contextmanager
def _lock() -> Iterator[None]:
    cache_directory().mkdir(parents=True, exist_ok=True)
    with (cache_directory() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(recipe: Recipe) -> None:
    for old in cache_directory().glob(f"{recipe.name}-*"):
        if time.time() - old.stat().st_mtime > KEPT_S:
            shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=cache_directory()) as temporary:
        root, made = Path(temporary, "root"), Path(temporary, "image")
        made.mkdir()
        _bootstrap(root, recipe)
        release = _install_kernel(root, recipe)
        if recipe.built:
            _build_modules(root, recipe, release)
        _install_requirements(root, recipe)
        _prepare(root)
        (made / "initrd.gz").write_bytes(initrd(root, release, recipe.boot_modules))
        shutil.move(root / "boot" / f"vmlinuz-{release}", made / "vmlinuz")
        _write_image(root, made / "root.img")
        made.rename(cache_directory() / f"{recipe.name}-{recipe.digest}")


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


def _mirror() -> tuple[str, str]:
    """Address and release of this machine's own Debian archive, from its apt configuration."""
    targets = _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)")
    for line in targets.splitlines():
        uri, codename, component, origin = line.split(maxsplit=3)
        if origin == "Debian" and component == "main" and "-" not in codename:
            return uri, codename
    raise LabUnavailable(
        "apt knows no Debian archive here (after apt-get update): the guest is made of Debian's packages"
    )


def _bootstrap(root: Path, recipe: Recipe) -> None:
    uri, codename = _mirror()
    _run("debootstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}", codename, root, uri)
    (root / "etc/apt/sources.list").write_text(f"deb {uri} {codename} main contrib\n")
    _in(root, "apt-get update -q")


def _install_kernel(root: Path, recipe: Recipe) -> str:
    """Unpack the kernel and the modules wanted; its release. Installing it would build an initrd of everything."""
    script = f"""cd /tmp
package=$(apt-cache depends {recipe.kernel} | sed -n 's/ *Depends: \\(linux-image-[0-9]\\)/\\1/p' | head -n 1)
apt-get download -q "$package" >&2
dpkg-deb -x linux-image-*.deb kernel && rm linux-image-*.deb
echo "${{package#linux-image-}}"
"""
    release = _in(root, script).split()[-1]
    unpacked = root / "tmp/kernel"
    shutil.copytree(unpacked / "boot", root / "boot", dirs_exist_ok=True)
    library = root / "lib/modules" / release
    shutil.copytree(unpacked / "lib/modules" / release, library)
    shutil.rmtree(unpacked)
    _in(root, f"depmod {release}")
    kept = set(needed_files(library, recipe.modules))
    for file in library.rglob("*.ko"):
        if str(file.relative_to(library)) not in kept:
            file.unlink()
    _in(root, f"depmod {release}")
    return release


def _build_modules(root: Path, recipe: Recipe, release: str) -> None:
    script = f"""apt-get install -q -y --no-install-recommends linux-headers-{release} >&2
apt-get install -q -y --no-install-recommends {" ".join(recipe.built)} >&2
dkms autoinstall -k {release} >&2
cp -a /lib/modules/{release}/updates /tmp/updates  # dkms takes them back when the headers go
apt-get purge -q -y 'linux-headers-*' 'linux-kbuild-*' gcc-12 g++-12 cpp-12 make >&2 || true
mkdir -p /lib/modules/{release}/updates && cp -a /tmp/updates/. /lib/modules/{release}/updates/
depmod {release}
"""
    _in(root, script)


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
    shutil.copy(GUEST / "start", root / "lab/start")
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
