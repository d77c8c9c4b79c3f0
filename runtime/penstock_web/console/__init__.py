"""Console: pages about connectors, plugin versions and policies. Views are pure functions; the page is rendered here."""
