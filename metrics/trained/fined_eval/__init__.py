"""FineD-Eval (Zhang et al. 2022)."""
