"""Variants: databases with other rows, under all rules that hold in a real one."""
