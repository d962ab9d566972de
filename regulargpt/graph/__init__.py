"""From one step of a torch module to graph.json, the function that the independent checker reads."""
