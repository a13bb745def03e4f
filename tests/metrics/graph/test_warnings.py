"""The warning of torch-geometric about torch.jit.script."""

import importlib
import warnings

from metrics import graph


def test_only_the_warning_of_torch_geometric_is_filtered() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        importlib.reload(graph)
        warnings.warn("`torch.jit.script` is deprecated", FutureWarning, stacklevel=1)
        warnings.warn("another", FutureWarning, stacklevel=1)
    assert [str(warning.message) for warning in shown] == ["another"]
