"""*a note: it does not change the verdict*

## What it means
The device is an instance store: it belongs to this cloud instance. Its data is lost when the instance stops, moves
to another host or fails, even if all syncs were durable. AWS, Google and Azure document that the data survives a
reboot.

## How it was measured
fstui recognised the device by the model that it reports or, on Azure, by its bus address. The provider's
documentation says what happens to the data.

## What it proves, and what it does not
The note does not show whether syncs are durable; the verdict does. Synced data may survive a power cut of the
host, and still be lost with the instance.

## What to do next
Keep a copy elsewhere: use replication, or a volume that outlives the instance.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.storage.layers.devices import media


@rule(order=70)
def ephemeral(case: Case) -> Iterator[Conclusion]:
    devices = [node for node in case.stack.lowest if node.medium and node.medium.ephemeral]
    if not devices:
        return
    models = tuple(dict.fromkeys(model for node in devices if (model := media.cloud_model(node))))
    survival = dict.fromkeys(model.data_lifetime for model in models if model.data_lifetime)
    yield Conclusion(
        title=f"{words.devices(devices)}: ephemeral",
        sentence=f"{words.devices(devices)} is local to this instance. However durable its syncs are, its data is lost "
        "when the instance stops, moves or fails." + (f" {words.join_words(survival)}." if survival else ""),
        evidence=(
            *(f"{node.id}: {node.medium.reason}" for node in devices if node.medium),
            *(f"documented: {model.source}" for model in models if model.data_lifetime),
        ),
        next=("Keep a copy elsewhere: replication, or a volume that outlives the instance.",),
    )
