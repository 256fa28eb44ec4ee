package conformance.flink.pipeline;

import java.lang.reflect.InvocationTargetException;
import java.util.Collection;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;

/** An enumerator of the user's in the place of the suite's: a class on the class path, and its constructor. */
final class OwnEnumerator {

    private static final String NAME = System.getProperty("conformance.enumerator", "");
    static final boolean IS_THERE = !NAME.isEmpty();

    private OwnEnumerator() {}

    /** Makes one that has these splits to assign. */
    @SuppressWarnings("unchecked")
    static SplitEnumerator<Split, Collection<Split>> make(
            SplitEnumeratorContext<Split> context, Collection<Split> unassigned) {
        try {
            return (SplitEnumerator<Split, Collection<Split>>)
                    Class.forName(NAME)
                            .getConstructor(SplitEnumeratorContext.class, Collection.class)
                            .newInstance(context, unassigned);
        } catch (InvocationTargetException thrown) {
            throw new IllegalStateException(NAME + " cannot be made", thrown.getCause());
        } catch (ReflectiveOperationException | ClassCastException wrong) {
            throw new IllegalStateException(
                    NAME + " must be a public SplitEnumerator with a public constructor"
                            + " (SplitEnumeratorContext, Collection) on the class path",
                    wrong);
        }
    }
}
