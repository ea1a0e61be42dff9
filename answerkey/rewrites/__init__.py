"""Every change of a query, by name, in one idiom. Doubts, readings and neighbors use them."""
