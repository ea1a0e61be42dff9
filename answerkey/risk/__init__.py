"""Risk: how likely it is that gold SQL is wrong, by its flags and by what people or models said."""
