"""From equations to numbers."""
