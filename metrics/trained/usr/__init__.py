"""USR (Mehri and Eskenazi 2020)."""
