"""Many worlds in quick succession."""
