import java.util.Arrays;
import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;

/**
 * A keyed vertex is restored with 195 subtasks instead of 194, and a key group gets a new owner that does not recover
 * the channel state of its old owner.
 *
 * <p>Exit status 1: there is such a key group. 0: there is none. With the argument "control" the maximum parallelism is
 * 512, a power of two, instead of 390.
 */
public final class Miss {

    public static void main(String[] arguments) {
        boolean isControl = arguments.length > 0 && arguments[0].equals("control");
        int keyGroups = isControl ? 512 : 390;
        int before = 194;
        int after = 195;
        int missed = 0;
        for (int group = 0; group < keyGroups; group++) {
            int oldOwner = KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup(keyGroups, before, group);
            int newOwner = KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup(keyGroups, after, group);
            int[] recovered = SubtaskStateMapper.RANGE.getOldSubtasks(newOwner, before, after);
            if (Arrays.stream(recovered).noneMatch(one -> one == oldOwner)) {
                missed++;
                System.out.println(
                        "key group " + group + " goes from subtask " + oldOwner + " to subtask " + newOwner
                                + ", which recovers from " + Arrays.toString(recovered));
            }
        }
        System.out.println(missed == 0 ? "every new owner recovers from the old one" : "MISSED: " + missed);
        System.exit(missed == 0 ? 0 : 1);
    }
}
