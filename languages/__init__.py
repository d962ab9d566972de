"""What there is to learn: automata, their monoids, tasks and exact samplers. Never imports torch."""
