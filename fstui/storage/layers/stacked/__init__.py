"""Block devices that are made of others, or of a file: what each of those below is handed."""
