"""What people look at: figures, the HTML report, terminal tables. Reads results only."""
