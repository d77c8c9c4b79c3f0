"""What a process of the runtime stands on: its signals and children, its limits, its liveness, its last words."""
