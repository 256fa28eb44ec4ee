package conformance.flink;

import java.io.IOException;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.partition.consumer.IndexedInputGate;
import org.apache.flink.runtime.io.network.partition.consumer.UnionInputGate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;

/** Flink's {@link UnionInputGate} over real gates. */
final class UnionGateSubject implements Subject {

    private final Signals signals = new Signals();
    private final Faults faults = new Faults(signals);
    private final GateFixture[] fixtures;
    private final int[] first; // by gate, the number of its first channel
    private final UnionInputGate union;
    private final Polling polling;

    UnionGateSubject(JsonNode config) throws BadRequest, IOException {
        JsonNode gates = Json.field(config, "gates");
        fixtures = new GateFixture[gates.size()];
        first = new int[gates.size()];
        IndexedInputGate[] under = new IndexedInputGate[gates.size()];
        int channels = 0;
        for (int gate = 0; gate < fixtures.length; gate++) {
            first[gate] = channels;
            fixtures[gate] = new GateFixture(gate, channels, signals, faults, GateFixture.alone(config, gate));
            under[gate] = fixtures[gate].gate;
            channels += fixtures[gate].channels();
        }
        union = new UnionInputGate(under);
        polling = new Polling(union, info -> first[info.getGateIdx()] + info.getInputChannelIdx(), signals);
    }

    @Override
    public Object call(String method, Arguments arguments) throws Exception {
        try {
            return perform(method, arguments);
        } finally {
            polling.watch();
        }
    }

    private Object perform(String method, Arguments arguments) throws Exception {
        switch (method) {
            case "recover":
                Place recovering = place(arguments);
                recovering.fixture.recover(recovering.channel, arguments.node(1));
                return null;
            case "finish_recovery":
                Place finished = place(arguments);
                finished.fixture.finishRecovery(finished.channel);
                return null;
            case "convert":
                fixtures[arguments.index(0)].convert();
                return null;
            case "request_partitions":
                fixtures[arguments.index(0)].requestPartitions();
                return null;
            case "poll":
                return polling.poll();
            case "resume":
                Place blocked = place(arguments);
                union.resumeConsumption(new InputChannelInfo(blocked.fixture.gate.getGateIndex(), blocked.channel));
                return null;
            case "arrive":
                Place live = place(arguments);
                live.fixture.arrive(live.channel, arguments.node(1), Network.UNKNOWN_BACKLOG);
                return null;
            case "fault":
                return faults.armSetup(arguments.text(0), arguments.text(1), arguments.number(2));
            case "available":
                return union.getAvailableFuture().isDone();
            case "finished":
                return union.isFinished();
            case "resources":
                return resources();
            case "release":
                for (GateFixture fixture : fixtures) {
                    fixture.release();
                }
                return null;
            default:
                throw new BadRequest("a union of gates has no method \"" + method + "\"");
        }
    }

    @Override
    public ArrayNode takeSignals() {
        return signals.take();
    }

    private Object resources() {
        int segments = 0;
        int listeners = 0;
        int futures = 0;
        for (GateFixture fixture : fixtures) {
            segments += fixture.segments();
            listeners += fixture.listeners();
            futures += fixture.futures();
        }
        return Json.object().put("segments", segments).put("listeners", listeners).put("futures", futures);
    }

    /** The gate of a channel of the port, and the number of the channel in that gate. */
    private static final class Place {
        private final GateFixture fixture;
        private final int channel;

        private Place(GateFixture fixture, int channel) {
            this.fixture = fixture;
            this.channel = channel;
        }
    }

    private Place place(Arguments arguments) throws BadRequest {
        int number = arguments.index(0);
        int gate = fixtures.length - 1;
        while (first[gate] > number) {
            gate--;
        }
        return new Place(fixtures[gate], number - first[gate]);
    }
}
