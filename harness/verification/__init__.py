"""Results and bundles computed again: what differs, and why."""
