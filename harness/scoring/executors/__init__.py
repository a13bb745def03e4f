"""Executors: where the parts of a run are scored. All of them end in the same scores, and so in the same report.

    local        in this process
    local:N      N processes of this machine, one per device where several are named
    ray          workers of a Ray cluster

`cutting.py` turns a plan into tasks, `crew.py` hands them out and takes care of what is lost, `work.py` does one;
an executor only starts workers, sends them tasks and says what came back. `filling.py` is what a run calls.
"""

from __future__ import annotations

from dataclasses import replace

from harness.errors import BadConfig
from harness.scoring.executors.tasks import Executor, Setup
from metrics.models.service import Models


def opened(
    name: str, setup: Setup, models: Models, devices: tuple[str, ...] = (), address: str = "", jobs: int = 0,
    gpus: float = 0.0,
) -> Executor:
    """The executor of a name, with its workers not yet started."""
    kind, _, number = name.partition(":")
    if name != "local" and setup.store.startswith("memory://"):
        raise BadConfig(f"--store {setup.store}: no other process sees it; it is for --executor local")
    if kind == "local" and not number:
        from harness.scoring.executors.local import Local

        return Local(setup, models)
    if kind == "local" and number.isdecimal() and 1 <= int(number) <= 1024:
        from harness.scoring.executors.processes import Processes

        return Processes(setup, int(number), devices)
    if name == "ray":
        from harness.scoring.executors.ray import Cluster

        if models.machine.kind != "cpu" and not gpus:
            raise BadConfig("--executor ray: say what a worker has, --gpus 1 or a share such as 0.25, or --device cpu")
        alike = replace(setup.choice, precision=models.machine.precision)  # on every node, whatever its device
        return Cluster(replace(setup, choice=alike), address, jobs, gpus)
    raise BadConfig(f"--executor {name!r:.40}: should be local, local:N for N processes, or ray")
