"""The commands: one file each, with configure(parser), run(args) and its help in the first line of the docstring."""
