"""Selection: policies, targets, and the solver that meets them."""
