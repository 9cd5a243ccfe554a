"""What kind of system it is: ranks, integrability, structure."""
