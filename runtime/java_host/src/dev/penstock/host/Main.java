package dev.penstock.host;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceTask;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ArrayValue;
import org.msgpack.value.MapValue;
import org.msgpack.value.Value;

/**
 * Runs Kafka Connect plugins for a Penstock process, which is this JVM's parent.
 *
 * <p>Requests arrive on standard input; messages are written to the descriptor in the first argument. Both are frames: a
 * length of four bytes, then MessagePack (see {@code penstock_runtime/java_plugins/wire.py}). The JVM halts when its input
 * ends, so it never outlives its parent, even if threads of a plugin are still running.
 */
public final class Main {
    /** Version of the protocol; incremented when the format of a message changes. */
    static final int PROTOCOL = 1;

    private static final long BEAT_MILLIS = 5_000;
    /** Maximum time for the shutdown hooks of plugins after {@code System.exit}. */
    private static final long HOOKS_MILLIS = 5_000;

    private final Channel channel;
    private final Plugins plugins = new Plugins();
    private final ConnectorCalls connectors;
    private final PluginRegistries registries = new PluginRegistries();
    private final MetricsReader metrics = new MetricsReader(registries);
    private final ChainSteps steps = new ChainSteps(plugins, registries);
    private final ConverterCalls converters = new ConverterCalls(plugins, registries);
    private final ConfigProviders providers = new ConfigProviders(plugins);
    private final ExecutorService calls = Executors.newCachedThreadPool(Threads.daemons("penstock-call"));
    private volatile TaskRunner task;
    private volatile RunningConnector connector;

    private Main(Channel channel) {
        this.channel = channel;
        this.connectors = new ConnectorCalls(plugins, channel);
    }

    public static void main(String[] arguments) throws IOException {
        InputStream requests = new FileInputStream(FileDescriptor.in);
        System.setIn(InputStream.nullInputStream()); // a plugin that reads standard input must not get requests
        Channel channel = new Channel(new FileOutputStream("/proc/self/fd/" + arguments[0]));
        int code = 0;
        try {
            channel.send(out -> {
                out.packArrayHeader(2);
                out.packString("ready");
                out.packInt(PROTOCOL);
            });
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                Threads.daemons("penstock-exit").newThread(Main::endSoon).start();
            }));
            Threads.daemons("penstock-beat").newThread(() -> beat(channel)).start();
            new Main(channel).serve(new DataInputStream(requests));
        } catch (EOFException e) {
            // The parent has closed the channel, or has exited.
        } catch (Throwable e) {
            e.printStackTrace();
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }

    /** Shows the parent that this JVM is not frozen, even while a plugin does not answer, and returns unused memory. */
    private static void beat(Channel channel) {
        IdleMemory memory = new IdleMemory(channel);
        try {
            while (true) {
                Thread.sleep(BEAT_MILLIS);
                channel.send(out -> {
                    out.packArrayHeader(1);
                    out.packString("beat");
                });
                memory.beat();
            }
        } catch (InterruptedException | IOException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends a JVM that is shutting down, even if a shutdown hook does not return. */
    private static void endSoon() {
        try {
            Thread.sleep(HOOKS_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(1);
    }

    private void serve(DataInputStream in) throws IOException {
        while (true) {
            byte[] frame = new byte[in.readInt()];
            in.readFully(frame);
            channel.received(frame.length);
            try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(frame)) {
                ArrayValue message = unpacker.unpackValue().asArrayValue();
                switch (message.get(0).asStringValue().asString()) {
                    case "call" -> call(
                            message.get(1).asIntegerValue().asInt(),
                            message.get(2).asStringValue().asString(),
                            message.get(3).asMapValue());
                    case "answer" -> channel.answered(message.get(1).asIntegerValue().asInt(), message.get(2));
                    case "commit" -> commit(
                            message.get(1).asIntegerValue().asInt(), message.get(2).asIntegerValue().asInt(), message.get(3));
                    case "credit" -> credit(message.get(1).asIntegerValue().asInt(), message.get(2).asIntegerValue().asInt());
                    case "reported" -> reported(
                            message.get(1).asIntegerValue().asInt(), message.get(2).asIntegerValue().asInt(), message.get(3));
                    default -> throw new IOException("unknown message " + message.get(0));
                }
            }
        }
    }

    private void credit(int epoch, int polls) {
        if (task instanceof SourceTaskRunner running && running.epoch() == epoch) {
            running.allow(polls);
        }
    }

    private void reported(int epoch, int number, Value failure) {
        if (task instanceof SinkTaskRunner running && running.epoch() == epoch) {
            running.reported(number, failure.isNilValue() ? null : failure.asStringValue().asString());
        }
    }

    /** Answers a request in a separate thread, since a plugin may take long or never return. */
    private void call(int id, String method, MapValue given) {
        calls.execute(() -> {
            try {
                Channel.Content result = dispatch(method, new Arguments(given));
                channel.send(out -> {
                    out.packArrayHeader(3);
                    out.packString("result");
                    out.packInt(id);
                    result.write(out);
                });
            } catch (Throwable e) {
                refuse(id, e);
            }
        });
    }

    private void refuse(int id, Throwable error) {
        try {
            channel.send(out -> {
                out.packArrayHeader(3);
                out.packString("error");
                out.packInt(id);
                Errors.pack(out, error);
            });
        } catch (IOException e) {
            Runtime.getRuntime().halt(1); // the parent no longer reads
        }
    }

    private Channel.Content dispatch(String method, Arguments given) throws Exception {
        return switch (method) {
            case "plugins" -> plugins.discover(given.text("location"));
            case "find" -> plugins.find(given.plugin());
            case "config" -> connectors.config(given.plugin());
            case "validate" -> connectors.validate(given.plugin(), given.properties());
            case "validate_definition" -> connectors.validateDefinition(given.plugin(), given.text("prefix"), given.properties());
            case "make_step" -> steps.make(given.plugin(), given.properties(), given.tags());
            case "apply" -> steps.apply(given.number("step"), given.bytes("records"));
            case "test" -> steps.test(given.number("step"), given.bytes("records"));
            case "close_step" -> steps.close(given.number("step"));
            case "make_converter" -> converters.make(
                    given.plugin(), given.text("type"), given.properties(), given.tags());
            case "from_connect" -> converters.fromConnect(given.number("converter"), given.bytes("records"));
            case "to_connect" -> converters.toConnect(given.number("converter"), given.bytes("message"));
            case "from_header" -> converters.fromHeader(
                    given.number("converter"), given.text("name"), given.bytes("records"));
            case "to_header" -> converters.toHeader(
                    given.number("converter"), given.text("topic"), given.text("name"), given.bytesOrNull("content"));
            case "close_converter" -> converters.close(given.number("converter"));
            case "make_provider" -> providers.make(given.plugin(), given.properties());
            case "get_config" -> providers.get(given.number("provider"), given.text("path"), given.texts("keys"));
            case "close_provider" -> providers.close(given.number("provider"));
            case "task_configs" -> connectors.taskConfigs(given.plugin(), given.properties(), given.number("max_tasks"));
            case "exactly_once" -> connectors.exactlyOnceSupport(given.plugin(), given.properties());
            case "transaction_boundaries" -> connectors.transactionBoundaries(given.plugin(), given.properties());
            case "is_notified_of_records" -> connectors.isNotifiedOfRecords(given.plugin());
            case "alter_offsets" -> connectors.alterOffsets(given.plugin(), given.properties(), given.offsets());
            case "alter_positions" -> connectors.alterPositions(given.plugin(), given.properties(), given.positions());
            case "start_connector" -> startConnector(given);
            case "start" -> start(given);
            case "start_sink" -> startSink(given);
            case "open" -> sink().open(given.partitions());
            case "close" -> sink().close(given.partitions());
            case "put" -> sink().put(given.bytes("records"));
            case "preCommit" -> sink().preCommit(given.positions());
            case "metrics" -> metrics.read();
            case "stop" -> stop(given.number("millis"), given.flag("connector"));
            default -> throw new IllegalArgumentException("unknown method " + method);
        };
    }

    private Channel.Content startConnector(Arguments given) throws Exception {
        RunningConnector started = new RunningConnector(
                plugins.make(given.plugin(), Connector.class),
                plugins.loader(given.plugin()),
                given.number("max_tasks"),
                registries.make(given.tags()),
                channel);
        connector = started;
        return started.start(given.properties());
    }

    private Channel.Content start(Arguments given) throws Exception {
        Map<String, String> properties = given.properties();
        SourceTask made = connectors.task(given.plugin(), properties, SourceTask.class);
        SourceTaskRunner runner = new SourceTaskRunner(
                given.number("epoch"),
                made,
                plugins.loader(given.plugin()),
                properties,
                registries.make(given.tags()),
                channel,
                given.flag("transactions") ? new TransactionMarks() : null);
        task = runner;
        runner.start();
        return Channel.NOTHING;
    }

    private Channel.Content startSink(Arguments given) throws Exception {
        Map<String, String> properties = given.properties();
        SinkTask made = connectors.task(given.plugin(), properties, SinkTask.class);
        String group = given.textOrNull("group");
        GroupMember member = group == null
                ? null
                : new GroupMember(group, given.text("member"), given.clients());
        SinkTaskRunner runner = new SinkTaskRunner(
                given.number("epoch"),
                made,
                plugins.loader(given.plugin()),
                properties,
                registries.make(given.tags()),
                channel,
                member);
        task = runner;
        return runner.start();
    }

    private SinkTaskRunner sink() {
        if (task instanceof SinkTaskRunner running) {
            return running;
        }
        throw new IllegalStateException("no sink task has been started");
    }

    /** Queues a commit. It is not a call: nothing waits for it, and a subsequent stop must find it queued. */
    private void commit(int epoch, int sequence, Value places) {
        if (task instanceof SourceTaskRunner running && running.epoch() == epoch) {
            running.commit(sequence, SourceTaskRunner.places(places.asArrayValue()));
        }
    }

    /** Stops the task and, unless another task object follows, the connector, within {@code millis}. */
    private Channel.Content stop(int millis, boolean withConnector) throws InterruptedException {
        RunningConnector watching = withConnector ? connector : null;
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        if (watching != null) {
            watching.beginStop();
        }
        TaskRunner running = task;
        String inside = running == null ? null : running.stop(millis);
        if (watching != null) {
            watching.awaitStop(TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
        }
        return out -> Channel.packTextOrNil(out, inside);
    }
}
