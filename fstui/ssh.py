"""The command line of ssh for remote hosts, and ssh's error messages in plain words."""

import shlex

NO_CONNECTION = 255
"""The exit status of ssh(1) if it could not connect or lost the connection."""
_KEEPALIVE_OPTIONS = ("-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""ssh detects a lost connection after 15 s."""
UNRESOLVED = "its name cannot be resolved here"
_MESSAGES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key has changed: see ssh-keygen -R"),
    ("Host key verification failed", "its host key is not known here: connect once by hand, or use ssh-keyscan"),
    ("Permission denied", "its sshd accepts none of your keys, and fstui does not ask for a password"),
    ("Could not resolve hostname", UNRESOLVED),
    ("Connection timed out", "it did not answer: no sshd listens there, or a firewall drops the packets"),
    ("timed out during banner exchange", "a server answers on the port, but it is not an ssh server"),
    ("No route to host", "there is no route to it"),
    ("Network is unreachable", "there is no route to it"),
    ("Connection refused", "no sshd listens there"),
    ("a password is required", "sudo asks for a password there: allow it with NOPASSWD, or connect as root"),
    ("Authentication required", "doas asks for a password there: allow it with nopass, or connect as root"),
    ("is not in the sudoers file", "this user may not use sudo there"),
    ("sudo: not found", "it has no sudo"),
    ("Stdio forwarding request failed", "its jump host does not reach it: no sshd listens there, or the jump host "
        "forbids AllowTcpForwarding"),
    ("kex_exchange_identification", "its sshd ends the connection at once: too many connections start there "
        "(MaxStartups), or it rejects this host"),
)  # fmt: skip


def command_line(program: str, connect_timeout_s: int) -> list[str]:
    """Return ssh with its options. The user's options come first, because ssh uses the first value of an option
    (ssh_config(5))."""
    timeout = f"-oConnectTimeout={connect_timeout_s}"
    return [*shlex.split(program), "-a", "-x", "-T", "-oBatchMode=yes", timeout, *_KEEPALIVE_OPTIONS]


def message(stderr: bytes) -> str | None:
    """Return ssh's error message in plain words, or None if the message is not known."""
    return next((plain for original, plain in _MESSAGES if original.encode() in stderr), None)
