"""FileStreamSource and FileStreamSink: the lines of files, standard input and standard output."""
