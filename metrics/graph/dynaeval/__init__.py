"""DynaEval (Zhang et al. 2021)."""
