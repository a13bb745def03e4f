"""What the trained metrics share: heads on vectors of a frozen encoder, their data and their losses."""
