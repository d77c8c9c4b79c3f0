package dev.penstock.host;

/** The task that this program runs. */
interface TaskRunner {
    /** Maximum time that a task may take to stop after a failed start, before another one may follow. */
    int NOT_STARTED_MILLIS = 5_000;

    /** Number of this task object in this process, so that messages for an earlier one are ignored. */
    int epoch();

    /**
     * Stops the task.
     *
     * @return null if it has ended, otherwise the method of the task that does not return
     */
    String stop(int millis) throws InterruptedException;
}
