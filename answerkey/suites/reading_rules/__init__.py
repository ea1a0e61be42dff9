"""Rules by which a question may mean another query than its gold, each for one reason. As the
operators of neighbors do, they change the tree of the gold query, and take it back.
"""
