package dev.penstock.host;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes this program's own threads, and runs work with the class loader of a plugin. */
final class Threads {
    /** Work that may throw anything. */
    interface Work<T> {
        T run() throws Exception;
    }

    private Threads() {}

    static ThreadFactory daemons(String name) {
        AtomicInteger made = new AtomicInteger();
        return work -> {
            Thread thread = new Thread(work, name + "-" + made.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Runs work as Kafka Connect calls plugins: with their class loader as the thread's. */
    static <T> T with(ClassLoader loader, Work<T> work) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            return work.run();
        } finally {
            thread.setContextClassLoader(before);
        }
    }
}
