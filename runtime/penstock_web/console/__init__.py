"""Console: pages about connectors, plugin versions and policies. Views are pure functions, which templates render."""
