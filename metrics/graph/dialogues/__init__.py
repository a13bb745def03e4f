"""What the metrics of whole dialogues share: dialogues as data, and dialogues made worse."""
