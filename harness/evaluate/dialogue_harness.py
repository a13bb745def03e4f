"""Every metric of the harness, and a suite, for the library evaluate: `evaluate.load("./this_file.py", "grade")`.

It needs `pip install 'dialogue-harness[all]'` and nothing else, so it may lie anywhere or be a Space of the hub.
"""

from harness.evaluate import metric_class, suite_class

DialogueMetric = metric_class()
Suite = suite_class()
