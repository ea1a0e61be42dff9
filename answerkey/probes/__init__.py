"""What may be wrong with gold SQL, its answer or its question: each probe raises one flag."""
