"""What the trained metrics share: vectors of a frozen encoder, training data, networks on top of them, losses."""
