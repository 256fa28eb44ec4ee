"""A query that keeps one batch of its state in RocksDB cannot start again after a failure of user code.

It needs only pyspark: `python retained.py`, or `python retained.py control`, which keeps two. User code fails once in
the second batch, when its state has been written and the batch is not committed. Exit status 1 if the query does not
start again, else 0.
"""

import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
    "spark.sql.streaming.minBatchesToRetain": "2" if "control" in sys.argv else "1",
}  # fmt: skip


def life(spark, folder, fails):
    """Runs the query until it has read everything. Returns how it failed."""

    def write(rows, batch):
        rows.collect()
        if fails and batch == 1:
            time.sleep(2)  # the maintenance of the state store runs meanwhile
            raise RuntimeError("user code fails")

    lines = spark.readStream.schema("key BIGINT").option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    query = (
        lines.groupBy("key").count().writeStream.outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint")).foreachBatch(write).start()
    )  # fmt: skip
    try:
        query.processAllAvailable()
        return ""
    except Exception as error:
        return next(line for line in str(error).splitlines() if "does not exist" in line or "user code" in line)
    finally:
        query.stop()


def main():
    """Runs two lives of the query. Returns how the second one failed."""
    builder = SparkSession.builder.master("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").mkdir()
        for number in range(3):
            (place / "in" / f"{number}.json").write_text('{"key": 1}\n')
        said = ""
        for number in (1, 2):
            said = life(spark, place, fails=number == 1)
            state = sorted(one.name for one in (place / "checkpoint/state/0/0").glob("[0-9]*"))
            commits = sorted(one.name for one in (place / "checkpoint/commits").glob("[0-9]*"))
            print(f"\nlife {number}: {said or 'it has read everything'}")
            print("batches committed:", *commits, " versions of the state:", *state, flush=True)
    spark.stop()
    return said


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
