package dev.penstock.host;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.connect.errors.ConnectException;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.buffer.MessageBuffer;
import org.msgpack.value.ArrayValue;
import org.msgpack.value.Value;

/** Channel to the parent process: sends messages, and look-ups that the parent answers. Thread-safe. */
final class Channel {
    /** Writes a message, or a part of one. */
    interface Content {
        void write(MessagePacker out) throws IOException;
    }

    static final Content NOTHING = MessagePacker::packNil;

    private final DataOutputStream out;
    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicLong moved = new AtomicLong();
    private final Map<Integer, CompletableFuture<Value>> questions = new ConcurrentHashMap<>();

    Channel(OutputStream out) {
        this.out = new DataOutputStream(out);
    }

    void send(Content content) throws IOException {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            content.write(packer);
            packer.flush();
            send(packer);
        }
    }

    /** Sends the contents of a packer, without copying them into one array. */
    private void send(MessageBufferPacker packer) throws IOException {
        List<MessageBuffer> parts = packer.toBufferList();
        long length = packer.getTotalWrittenBytes();
        if (length > Integer.MAX_VALUE) {
            throw new ConnectException(
                    "cannot send a message of " + length + " bytes: it is larger than 2 GiB; reduce the connector's poll size");
        }
        synchronized (out) {
            out.writeInt((int) length);
            for (MessageBuffer part : parts) {
                out.write(part.array(), part.arrayOffset(), part.size());
            }
            out.flush();
        }
        moved.addAndGet(length);
    }

    /** Counts bytes that have arrived. */
    void received(int length) {
        moved.addAndGet(length);
    }

    /** Returns the total bytes of all messages, in both directions. */
    long moved() {
        return moved.get();
    }

    /** Asks the parent for the committed offsets of source partitions, and waits for the answer: one value for each. */
    ArrayValue lookUp(Content partitions) {
        int id = asked.incrementAndGet();
        CompletableFuture<Value> answer = new CompletableFuture<>();
        questions.put(id, answer);
        try {
            send(packer -> {
                packer.packArrayHeader(3);
                packer.packString("lookup");
                packer.packInt(id);
                partitions.write(packer);
            });
            Value value = answer.get();
            if (value.isStringValue()) {
                throw new ConnectException(value.asStringValue().asString());
            }
            return value.asArrayValue();
        } catch (IOException | ExecutionException e) {
            throw new ConnectException("cannot read source offsets", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ConnectException("interrupted while reading source offsets", e);
        } finally {
            questions.remove(id);
        }
    }

    void answered(int id, Value value) {
        CompletableFuture<Value> question = questions.get(id);
        if (question != null) {
            question.complete(value);
        }
    }

    /** Packs a string as Java encodes it for Kafka: a lone surrogate becomes a question mark. */
    static void packText(MessagePacker out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.packRawStringHeader(bytes.length);
        out.writePayload(bytes);
    }

    static void packTextOrNil(MessagePacker out, String text) throws IOException {
        if (text == null) {
            out.packNil();
        } else {
            packText(out, text);
        }
    }
}
