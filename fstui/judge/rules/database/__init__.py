"""Does a database make its commits durable?"""
