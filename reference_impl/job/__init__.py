"""A whole job: tasks, network, state and job master, made of the parts of the reference."""
