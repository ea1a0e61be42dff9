"""SQL as text and tree: what names stand for, canonical forms, features, hardness."""
