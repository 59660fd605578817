"""Ways to ask a language model which memories answer a question."""
