"""SQL as text and tree: name resolution, canonical forms, features, hardness."""
