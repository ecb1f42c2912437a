"""Are a database's commits durable?"""
