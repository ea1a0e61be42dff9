"""The doubts of gold SQL, its answer and its question: each raises one flag."""
