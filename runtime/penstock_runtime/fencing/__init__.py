"""Who may write: the incarnations of tasks."""
