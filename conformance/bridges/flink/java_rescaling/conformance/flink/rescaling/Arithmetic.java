package conformance.flink.rescaling;

import conformance.flink.BadRequest;
import conformance.flink.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.TreeSet;
import org.apache.flink.runtime.checkpoint.RescaleMappings;
import org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper;
import org.apache.flink.runtime.plugable.SerializationDelegate;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Answers questions about key groups, mappers and partitioners: one line of JSON each, a list of the name and the
 * operands. The answer is a line {@code {"value": …}} or {@code {"refused": the class of the exception}}.
 */
public final class Arithmetic {

    private Arithmetic() {}

    public static void main(String[] unused) throws IOException, BadRequest {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // a stray print of Flink must not end up among the answers
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = questions.readLine()) != null) {
            answers.println(Json.write(answer(Json.parse(line))));
        }
        answers.flush();
    }

    private static ObjectNode answer(JsonNode question) throws BadRequest {
        ObjectNode answer = Json.object();
        try {
            answer.putPOJO("value", value(Json.text(question.path(0)), question));
        } catch (RuntimeException refused) {
            answer.put("refused", refused.getClass().getSimpleName());
        }
        return answer;
    }

    private static Object value(String name, JsonNode question) throws BadRequest {
        switch (name) {
            case "key_group":
                return KeyGroupRangeAssignment.assignToKeyGroup(key(question.path(1)), number(question, 2));
            case "owner":
                return KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup(
                        number(question, 2), number(question, 3), number(question, 1));
            case "owner_of_key":
                return KeyGroupRangeAssignment.assignKeyToParallelOperator(
                        key(question.path(1)), number(question, 2), number(question, 3));
            case "key_groups":
                KeyGroupRange range =
                        KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                                number(question, 2), number(question, 3), number(question, 1));
                return Json.array().add(range.getStartKeyGroup()).add(range.getEndKeyGroup());
            case "default_max_parallelism":
                return KeyGroupRangeAssignment.computeDefaultMaxParallelism(number(question, 1));
            case "old_subtasks":
                return list(
                        mapper(question)
                                .getOldSubtasks(number(question, 2), number(question, 3), number(question, 4)));
            case "mapping":
                return mapping(mapper(question), number(question, 2), number(question, 3));
            case "channels":
                return channels(question);
            case "copy_is_the_same":
                StreamPartitioner<Object> partitioner = Partitioners.make(Json.text(question.path(1)));
                return partitioner.copy() == partitioner;
            default:
                throw new BadRequest("unknown question " + question);
        }
    }

    private static SubtaskStateMapper mapper(JsonNode question) throws BadRequest {
        return SubtaskStateMapper.valueOf(Json.text(question.path(1)));
    }

    /** The mapping of all new subtasks, and its inverse. */
    private static ObjectNode mapping(SubtaskStateMapper mapper, int old, int parallelism) {
        RescaleMappings mapping = mapper.getNewToOldSubtasksMapping(old, parallelism);
        ObjectNode answer = Json.object().put("identity", mapping.isIdentity());
        answer.set("old_by_new", lists(mapping, parallelism));
        answer.set("new_by_old", lists(mapping.invert(), old));
        answer.set("ambiguous", Json.array(new TreeSet<>(mapping.getAmbiguousTargets())));
        return answer;
    }

    /** Where a fresh partitioner sends records with these keys, in this order. */
    private static ArrayNode channels(JsonNode question) throws BadRequest {
        StreamPartitioner<Object> partitioner =
                Partitioners.make(Json.text(question.path(1)), number(question, 2), number(question, 3));
        SerializationDelegate<StreamRecord<Object>> delegate = new SerializationDelegate<>(null);
        ArrayNode channels = Json.array();
        for (JsonNode key : question.path(4)) {
            delegate.setInstance(new StreamRecord<>(key(key)));
            channels.add(partitioner.selectChannel(delegate));
        }
        return channels;
    }

    private static ArrayNode lists(RescaleMappings mapping, int count) {
        ArrayNode lists = Json.array();
        for (int source = 0; source < count; source++) {
            lists.add(list(mapping.getMappedIndexes(source)));
        }
        return lists;
    }

    private static ArrayNode list(int[] numbers) {
        ArrayNode list = Json.array();
        for (int number : numbers) {
            list.add(number);
        }
        return list;
    }

    /** A {@code Long}, a {@code String} or null. */
    private static Object key(JsonNode key) throws BadRequest {
        return key.isNull() ? null : key.isTextual() ? key.textValue() : (Object) Json.number(key);
    }

    private static int number(JsonNode question, int at) throws BadRequest {
        return Math.toIntExact(Json.number(question.path(at)));
    }
}
