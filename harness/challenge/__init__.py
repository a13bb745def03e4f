"""A challenge: a folder with rules and submissions, from its files to the official table and its pages.

    rulebook.read(folder, phase)        -> Rulebook      what challenge.toml says
    receipts.read(folder)               -> Log           what came in and when, and which phases are frozen
    ground.prepared(rulebook, home)     -> Ground        items, ratings and targets that submissions are held against
    submissions.listed(rulebook, ...)   -> ListedSubmissions   submissions, and why others are refused
    entries.taken(listed, ground)       -> Entries       their scores, and who is refused for what is in a file
    ranking.agreement(...)              -> values        the statistic of every submission on every target
    ranking.ranked(...)                 -> Ranking       who counts, ranks, intervals, letters, clusters
    outcome.outcome(...)                -> Outcome       all of it, from which tables, audit log and report are made

A refused submission is left out before the first number is computed, so it cannot move another's place.
"""
