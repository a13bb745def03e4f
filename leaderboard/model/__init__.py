"""Views of results for pages: index, titles, boards and eras, questions and costs, sentences, data of scripts."""
