"""Views of results for pages: index, boards, pairs, cost, changes."""
