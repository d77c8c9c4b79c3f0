package dev.penstock.host;

/** Gives heap that a backlog has left back to the system, once nothing has moved for half a minute. */
final class IdleMemory {
    /** How often it is asked: six times in half a minute. */
    private static final int QUIET_BEATS = 6;
    /** Bytes between two beats that do not count as work: a trickle, and what calls and their answers need. */
    private static final long LITTLE = 1 << 20;
    /** Heap that is worth a full collection: less would be taken again by a trickle. */
    private static final long MUCH = 16 << 20;

    private final Channel channel;
    private long moved;
    private int quiet;
    /** The heap that the last collection has left, in bytes. */
    private long kept;

    IdleMemory(Channel channel) {
        this.channel = channel;
    }

    /**
     * Counts the quiet beats, and collects at the sixth of them.
     *
     * <p>A full collection is the only one at which the serial collector makes its heap smaller.
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
