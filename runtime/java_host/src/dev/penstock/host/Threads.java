package dev.penstock.host;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Creates this program's threads, and runs work with the class loader of a plugin. */
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

    /** Waits for the result of work in another thread, and throws its exception. */
    static <T> T result(Future<T> work) throws Exception {
        try {
            return work.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** Runs work as Kafka Connect calls plugins: with their class loader as the thread's context class loader. */
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

    /** Waits for threads whose classes are defined by a plugin, for at most {@code millis}. */
    static void awaitOf(ClassLoader loader, long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (Thread each : Thread.getAllStackTraces().keySet()) {
            if (each.getClass().getClassLoader() == loader) {
                TimeUnit.NANOSECONDS.timedJoin(each, end - System.nanoTime());
            }
        }
    }
}
