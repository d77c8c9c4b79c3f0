package dev.penstock.host;

/** The one task that this program runs. */
interface TaskRunner {
    /** How long a task that could not be started may take to stop before another one may follow. */
    int NOT_STARTED_MILLIS = 5_000;

    /** Number of this task object in this process, so that messages for an earlier one are ignored. */
    int epoch();

    /**
     * Stops the task.
     *
     * @return null once it has ended, else the method of the task that does not return
     */
    String stop(int millis) throws InterruptedException;
}
