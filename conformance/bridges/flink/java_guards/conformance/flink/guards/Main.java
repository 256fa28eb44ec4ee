package conformance.flink.guards;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.Map;

/**
 * The components of a released Flink, one of whose classes lacks one guard. The class is read from the release and
 * changed in memory, before anything else loads it. Nothing is written.
 */
public final class Main {

    private static final String PACKAGE = "org.apache.flink.";

    /** The suite's own class in each of these packages. */
    private static final Map<String, String> NEIGHBOURS =
            Map.of(
                    "runtime.io.network.partition.", "SubpartitionAccess",
                    "runtime.io.network.partition.consumer.", "ConsumerAccess",
                    "runtime.checkpoint.channel.", "WriterAccess",
                    "streaming.runtime.io.checkpointing.", "BarrierAccess",
                    "streaming.runtime.tasks.", "SubtaskAccess");

    private Main() {}

    /** {@code arguments}: the class of Flink, its method, the name in that method, which of its places, the change. */
    public static void main(String[] arguments) throws Exception {
        String className = arguments[0];
        ClassLoader loader = Main.class.getClassLoader();
        Removal.Change change = Removal.Change.valueOf(arguments[4]);
        Removal removal = new Removal(arguments[2], Integer.parseInt(arguments[3]), change);
        byte[] changed = removal.from(read(loader, className), arguments[1]);
        // A class is defined by its own package, in which the suite has a class of its own.
        Class<?> neighbour = Class.forName(neighbour(className), false, loader);
        MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(changed);
        conformance.flink.Main.main(new String[0]);
    }

    private static byte[] read(ClassLoader loader, String className) throws IOException {
        try (InputStream stream = loader.getResourceAsStream(className.replace('.', '/') + ".class")) {
            if (stream == null) {
                throw new IllegalArgumentException("this release has no class " + className);
            }
            return stream.readAllBytes();
        }
    }

    private static String neighbour(String className) {
        String folder = className.substring(0, className.lastIndexOf('.') + 1);
        String name = NEIGHBOURS.get(folder.substring(PACKAGE.length()));
        if (name == null) {
            throw new IllegalArgumentException("the suite has no class in the package of " + className);
        }
        return folder + name;
    }
}
