"""Group coordinates written in ordinary ones: `chart` rewrites a system, `product` has coordinates of the second kind."""
