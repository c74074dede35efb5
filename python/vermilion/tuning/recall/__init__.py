"""Earlier answers: how alike conditions are, and where a search may begin."""
