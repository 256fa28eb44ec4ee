"""A query whose process was killed while it wrote its first offsets cannot start again.

It needs only pyspark: `python half_offset.py`, or `python half_offset.py control`, which turns the check off. The kill
is played: the temporary file is there that such a kill has left in an episode. Exit status 1 if the query does not
start, else 0.
"""

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession


def main():
    """Starts a query on what the kill has left. Returns how it failed."""
    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart", str("control" not in sys.argv))
        .getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").mkdir()
        (place / "in" / "0.json").write_text('{"key": 1}\n')
        (place / "checkpoint/offsets").mkdir(parents=True)
        (place / "checkpoint/offsets/.0.d5ef61ca-9fc9-4e8a-9719-38217f5b3ad1.tmp").touch()
        counts = spark.readStream.schema("key BIGINT").json(str(place / "in")).groupBy("key").count()
        query = (
            counts.writeStream.outputMode("update").option("checkpointLocation", str(place / "checkpoint"))
            .foreachBatch(lambda rows, batch: rows.collect()).start()
        )  # fmt: skip
        said = ""
        try:
            query.processAllAvailable()
        except Exception as error:
            said = next(line for line in str(error).splitlines() if "should be empty" in line)
        query.stop()
    spark.stop()
    print(f"\n{said or 'it has read everything'}")
    return said


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
