"""A challenge: a folder with rules and submissions, from which the official table and its pages are made.

    rulebook.read        challenge.toml as a Rulebook
    receipts.read        the log of received files and frozen phases
    ground.prepare       items, ratings and targets
    submissions.find     submissions and refused folders
    entries.accept       scores, and files refused for their content
    outcome.read         an Outcome: the submissions that count, their ranks, intervals, letters and clusters

A refused submission is left out before the first number is computed, so it cannot change another's rank.
"""
