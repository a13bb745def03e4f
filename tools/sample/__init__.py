"""The script that makes the bundled sample (benchmarks/sample/README.md)."""
