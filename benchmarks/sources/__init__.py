"""Sources of datasets: the cards of the collection (cards.toml), and a function for each upstream format."""
