"""Environments of trainers and evaluation libraries, each in a module named after its library."""
