"""What is measured on a machine with a GPU."""
