"""Risk: the probability that gold SQL is wrong, from its flags and from verdicts."""
