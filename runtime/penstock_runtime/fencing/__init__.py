"""Who may write: task incarnations, and what is done before a task starts."""
