package dev.penstock.host;

/** Returns unused heap to the operating system after a backlog, once the JVM has been idle for half a minute. */
final class IdleMemory {
    /** Number of idle beats before a garbage collection: six beats take half a minute. */
    private static final int QUIET_BEATS = 6;
    /** Bytes between two beats below which the JVM is idle: few records, and calls and their answers. */
    private static final long LITTLE = 1 << 20;
    /** Minimum growth of the heap, in bytes, that justifies a full collection: even few records soon use less than this again. */
    private static final long MUCH = 16 << 20;

    private final Channel channel;
    private long moved;
    private int quiet;
    /** Size of the heap after the last collection, in bytes. */
    private long kept;

    IdleMemory(Channel channel) {
        this.channel = channel;
    }

    /**
     * Counts idle beats, and collects garbage at the sixth.
     *
     * <p>The serial collector shrinks its heap only in a full collection.
     */
    void beat() {
        long now = channel.moved();
        quiet = now - moved < LITTLE ? quiet + 1 : 0;
        moved = now;
        if (quiet >= QUIET_BEATS && Runtime.getRuntime().totalMemory() - kept >= MUCH) {
            System.gc();
            kept = Runtime.getRuntime().totalMemory();
            quiet = 0;
        }
    }
}
