"""Arms that are shell commands: `bestk run` (`study_file`, `pull`) and `bestk race` (`race`).

`process` runs a command and kills what it leaves behind, `template` fills in an arm's values, and
`pull` reads the reward from what was printed.
"""
