"""Views of results for pages: index, eras, boards, questions, costs, sentences, missing values."""
