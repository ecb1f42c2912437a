"""The questions to an NVMe controller, with a made-up kernel."""

import ctypes
import json
import sys

import pytest

from fstui.measure.helpers import nvme_admin
from fstui.measure.helpers.nvme_admin import COMMAND, GET_FEATURES, GET_LOG_PAGE, IDENTIFY, NVME_IOCTL_ADMIN_CMD


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Answer like a controller: [volatile write cache, value of the feature, status]."""
    answers = [7, 1, 0]

    def ioctl(_: int, request: int, buffer: bytearray) -> int:
        assert request == NVME_IOCTL_ADMIN_CMD
        opcode, *_rest, address, _, size, cdw10 = COMMAND.unpack(buffer)[:11]
        if opcode == GET_LOG_PAGE:
            assert (size, cdw10, _rest[2]) == (512, 127 << 16 | 2, 0xFFFFFFFF)
            ctypes.memset(address, 0x10, 1)
            ctypes.memset(address + 5, 3, 1)
            ctypes.memset(address + 144, 1, 2)
        elif opcode == IDENTIFY:
            assert (size, cdw10) == (4096, 1)
            ctypes.memset(address + nvme_admin.VWC_OFFSET, answers[0], 1)
        else:
            assert (opcode, size, cdw10) == (GET_FEATURES, 0, 6)
            buffer[-4:] = answers[1].to_bytes(4, "little")
        return answers[2]

    monkeypatch.setattr("fcntl.ioctl", ioctl)
    return answers


def asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, action: str) -> str:
    monkeypatch.setattr(sys, "argv", ["nvme", action, "/dev/null"])
    nvme_admin.main()
    return capsys.readouterr().out


def test_structure_has_the_size_in_the_number_of_the_call() -> None:
    assert COMMAND.size == NVME_IOCTL_ADMIN_CMD >> 16 & 0x3FFF == 72


def test_presence_and_state_are_printed_as_nvme_does(
    kernel: list[int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json.loads(asked(capsys, monkeypatch, "id-ctrl")) == {"vwc": 7}
    assert asked(capsys, monkeypatch, "get-feature") == "Current value:0x00000001\n"
    kernel[:2] = [0, 0]
    assert json.loads(asked(capsys, monkeypatch, "id-ctrl")) == {"vwc": 0}
    assert asked(capsys, monkeypatch, "get-feature") == "Current value:0x00000000\n"


@pytest.mark.usefixtures("kernel")
def test_health_is_read_from_its_log_page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(asked(capsys, monkeypatch, "smart-log"))
    assert found == {"critical_warning": 16, "percent_used": 3, "unsafe_shutdowns": 257, "media_errors": 0}


def test_error_of_the_controller_is_no_answer(
    kernel: list[int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel[2] = 0x2002
    with pytest.raises(OSError, match="NVMe status 0x2002"):
        asked(capsys, monkeypatch, "get-feature")
