"""A run, or several, for people and for other tools: json, csv, markdown, plain text. Nothing here judges."""
