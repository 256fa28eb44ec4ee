package conformance.flink.overlay;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;

/**
 * Whole jobs of a release with a change that Flink has made since. The class is read from the release and changed in
 * memory, before anything else loads it. Nothing is written.
 */
public final class Main {

    private static final String PACKAGE = "org.apache.flink.runtime.io.network.partition.consumer.";

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        ClassLoader loader = Main.class.getClassLoader();
        byte[] changed = PersistedOnce.in(read(loader, PACKAGE + "LocalInputChannel"));
        // A class is defined by its own package; its superclass is loaded before it in any case.
        Class<?> neighbour = Class.forName(PACKAGE + "InputChannel", false, loader);
        MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(changed);
        conformance.flink.pipeline.Main.main(arguments);
    }

    private static byte[] read(ClassLoader loader, String className) throws IOException {
        try (InputStream stream = loader.getResourceAsStream(className.replace('.', '/') + ".class")) {
            return stream.readAllBytes();
        }
    }
}
