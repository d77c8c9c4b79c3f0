"""FileStreamSource and FileStreamSink: lines of files, and of standard input and output."""
