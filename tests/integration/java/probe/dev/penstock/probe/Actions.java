package dev.penstock.probe;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;

/** What a plugin can do wrong, by name. Properties choose the place ("poll.action") and the deed ("exit 7"). */
final class Actions {
    private final Map<String, String> properties;

    Actions(Map<String, String> properties) {
        this.properties = properties;
    }

    /** Does what is configured for a place: each time, or while the file "<place>.once" is shorter than "<place>.times". */
    void at(String place) {
        String action = properties.get(place + ".action");
        if (action == null) {
            return;
        }
        String once = properties.get(place + ".once");
        try {
            if (once != null) {
                Path marker = Path.of(once);
                long times = Long.parseLong(properties.getOrDefault(place + ".times", "1"));
                if (Files.exists(marker) && Files.size(marker) >= times) {
                    return;
                }
                Files.writeString(marker, "x", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
            perform(action);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void perform(String action) throws IOException {
        switch (action) {
            case "exit 0" -> System.exit(0);
            case "exit 7" -> System.exit(7);
            case "hook" -> {
                Runtime.getRuntime().addShutdownHook(new Thread(Actions::block));
                System.exit(1);
            }
            case "throw" -> throw new ConnectException(
                    "the slot is gone", new IllegalStateException("wal level", new IOException("disk of pg-7 is full")));
            case "leak" -> {
                String secret = properties.get("password");
                System.out.println("out " + secret);
                System.err.println("err " + secret);
                throw new ConnectException("cannot log in with " + secret);
            }
            case "retriable" -> throw new RetriableException("the database restarts");
            case "kafka retriable" -> throw new org.apache.kafka.common.errors.TimeoutException("no answer yet");
            case "overflow" -> overflow(0);
            case "no class" -> throw new NoClassDefFoundError("com/example/Driver");
            case "memory" -> fill();
            case "classes" -> load();
            case "swell" -> swell();
            case "block" -> block();
            case "doze" -> doze(1_000);
            case "hold" -> hold(Path.of(properties.get("gate")));
            case "hold and throw" -> {
                hold(Path.of(properties.get("gate")));
                perform("throw");
            }
            case "print" -> print();
            case "child" -> new ProcessBuilder("sleep", "600").inheritIO().start();
            case "threads" -> {
                for (int i = 0; i < 3; i++) {
                    new Thread(Actions::block, "left by the plugin").start();
                }
            }
            default -> throw new IllegalArgumentException(action);
        }
    }

    private static int overflow(int depth) {
        return overflow(depth + 1) + overflow(depth + 2);
    }

    private static void fill() {
        List<byte[]> held = new ArrayList<>();
        while (true) {
            held.add(new byte[1 << 20]);
        }
    }

    /** Takes 250 MB for a moment. */
    private static void swell() {
        List<byte[]> held = new ArrayList<>();
        for (int i = 0; i < 250; i++) {
            held.add(new byte[1 << 20]);
        }
        System.out.println("swollen by " + held.size() + " MB");
    }

    /** Loads a class again and again, each time by another loader. */
    private static void load() throws IOException {
        byte[] content;
        try (InputStream in = Actions.class.getResourceAsStream("Expected.class")) {
            content = in.readAllBytes();
        }
        List<Class<?>> held = new ArrayList<>();
        while (true) {
            held.add(new ClassLoader(Actions.class.getClassLoader()) {
                Class<?> define() {
                    return defineClass("dev.penstock.probe.Expected", content, 0, content.length);
                }
            }.define());
        }
    }

    /** Waits for ever, whoever interrupts. */
    private static void block() {
        while (true) {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                // Ignored: this is what the test is about.
            }
        }
    }

    /** Waits until a file is there. */
    private static void hold(Path gate) throws IOException {
        while (!Files.exists(gate)) {
            doze(10);
        }
    }

    private static void doze(long millis) throws IOException {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new InterruptedIOException();
        }
    }

    /** 8 MB on each stream: a line without an end, many short ones, and bytes that bypass System.out. */
    private static void print() throws IOException {
        byte[] piece = new byte[1 << 16];
        Arrays.fill(piece, (byte) 'x');
        String text = new String(piece, StandardCharsets.US_ASCII);
        for (int i = 0; i < 64; i++) {
            System.out.print(text);
            System.err.print(text);
        }
        System.out.println();
        System.err.println();
        for (int i = 0; i < 20_000; i++) {
            System.out.println("out " + i);
            System.err.println("err " + i);
        }
        for (String stream : new String[] {"/proc/self/fd/1", "/proc/self/fd/2"}) {
            try (OutputStream raw = new java.io.FileOutputStream(stream)) {
                for (int i = 0; i < 64; i++) {
                    raw.write(piece);
                }
                raw.write("\nnative end\n".getBytes(StandardCharsets.US_ASCII));
            }
        }
    }
}
