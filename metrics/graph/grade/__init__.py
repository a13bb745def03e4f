"""GRADE (Huang et al. 2020)."""
