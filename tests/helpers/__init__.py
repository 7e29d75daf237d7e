"""What tests share: studies and files to test on, commands to run, drawn cases, edits."""
