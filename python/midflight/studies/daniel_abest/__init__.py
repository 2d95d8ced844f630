"""Daniel & Kojo, report on available bandwidth: what trains of segments tell of a path."""
