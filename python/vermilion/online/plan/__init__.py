"""Finding a better setting: questions to a model, and their answers."""
