"""What pages ask of results: index, boards, pairs, cost, changes."""
