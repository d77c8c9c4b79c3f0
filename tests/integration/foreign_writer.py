"""A Spark job of somebody else, which appends small files to a folder again and again until its standard input ends.

`python foreign_writer.py PATH`: each line that it prints is the number of rows that it has appended, or why it could not.
"""

import select
import sys

from pyspark.sql import SparkSession


def main(path: str) -> None:
    """Append until told to end."""
    conf = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    session = SparkSession.builder.master("local[1]").config(map=dict(conf)).getOrCreate()
    written = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        rows = session.createDataFrame([(-1 - written - n, "foreign") for n in range(3)], "id long, text string")
        try:
            rows.write.mode("append").parquet(path)
        except Exception as e:  # noqa: BLE001 (told, and counted by the test)
            print(repr(e).replace("\n", " "), flush=True)
            continue
        written += 3
        print(written, flush=True)
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
