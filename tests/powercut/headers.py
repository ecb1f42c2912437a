"""A header as a writer prints it, for a made-up host."""

from fstui.model.documents import encode
from fstui.model.run import ScenarioRef
from fstui.powercut.header import PowerCutHeader
from fstui.powercut.records import Stream
from tests.factories.runs import target
from tests.factories.samples import RUN

HEADER = encode(
    PowerCutHeader(
        run="00112233445566ff",
        started_at="2026-11-20T03:12:44+01:00",
        boot="b",
        host=RUN.host,
        directory="/srv/data/.fstui-powercut-00112233445566ff",
        fsid=1,
        target=target(),
        scenario=ScenarioRef(name="powercut", title="Power cut", settings={}),
        streams=(
            Stream.make(0, "fsync", "append", 4096, 1 << 20),
            Stream.make(1, "fdatasync", "overwrite", 4096, 1 << 20),
        ),
        version="0.1.0",
    )
)
