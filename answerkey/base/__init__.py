"""Code that every stage needs, and that no feature changes."""
