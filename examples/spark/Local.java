import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.SparkConf;

/**
 * The local file system of Hadoop without the processes that it starts: where its native library is missing, it runs
 * `chmod` for each file that it makes and `readlink` for each that it renames, dozens for a batch.
 */
public final class Local extends LocalFileSystem {
    public Local() {
        super(new Raw());
    }

    /** Returns a configuration in which both interfaces of Hadoop to files use this one. */
    static SparkConf conf() {
        return new SparkConf().set("spark.hadoop.fs.file.impl", Local.class.getName())
            .set("spark.hadoop.fs.AbstractFileSystem.file.impl", Context.class.getName());
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) {}

        @Override
        public FileStatus getFileLinkStatus(Path path) throws IOException {
            return getFileStatus(path); // there are no links
        }
    }

    private static final class RawContext extends DelegateToFileSystem {
        RawContext(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(uri, new Raw(), conf, "file", false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1; // none
        }

        @Override
        @SuppressWarnings("deprecation")
        public FsServerDefaults getServerDefaults() throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public boolean isValidName(String name) {
            return true;
        }
    }

    /** The same for FileContext, with which Spark writes offsets, commits and state. */
    public static final class Context extends ChecksumFs {
        public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
            super(new RawContext(URI.create("file:///"), conf));
        }
    }
}
