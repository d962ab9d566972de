"""Training: phases, schedules and exact resume."""
