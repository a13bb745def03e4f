"""S-DiCoh (Mesgar et al. 2020)."""
