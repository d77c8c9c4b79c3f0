"""Who may write: the incarnations of tasks, and what is fenced before those of a plan start."""
