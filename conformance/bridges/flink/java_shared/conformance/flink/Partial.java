package conformance.flink;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Map;

/**
 * An object with a few methods of a large interface of Flink, in place of a part of Flink that the suite does not run.
 * A call of any other method fails, so that nothing is returned in its place.
 */
public final class Partial {

    /** Performs a call of a method, whatever its name is in the interface. */
    public interface Method {
        Object call(Object[] arguments) throws Throwable;
    }

    private Partial() {}

    /** Makes such an object. {@code methods}: by name, which stands for all methods of that name. */
    public static <T> T of(Class<T> type, Map<String, Method> methods) {
        InvocationHandler handler =
                (self, called, arguments) -> {
                    Method method = methods.get(called.getName());
                    if (method != null) {
                        return method.call(arguments);
                    }
                    switch (called.getName()) {
                        case "hashCode":
                            return System.identityHashCode(self);
                        case "equals":
                            return self == arguments[0];
                        case "toString":
                            return "a part of " + type.getSimpleName();
                        default:
                            throw new UnsupportedOperationException(type.getSimpleName() + "." + called.getName());
                    }
                };
        return type.cast(Proxy.newProxyInstance(Partial.class.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
