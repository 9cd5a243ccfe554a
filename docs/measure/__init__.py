"""What `make verify` measures."""
