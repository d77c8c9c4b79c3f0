package dev.penstock.probe;

import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.CumulativeCount;

/** What the probe measures, by Kafka Connect's metrics and by beans in JMX. */
public final class ProbeMetrics {
    private ProbeMetrics() {}

    /** A sensor that counts, as the metric {@code <name>-total} with the tag {@code probe}. */
    static Sensor counter(PluginMetrics metrics, String name) {
        LinkedHashMap<String, String> tags = new LinkedHashMap<>(Map.of("probe", "yes"));
        Sensor sensor = metrics.addSensor(name); // each plugin has a sensor of this name
        sensor.add(metrics.metricName(name + "-total", "Counted by the probe.", tags), new CumulativeCount());
        return sensor;
    }

    /** Registers beans: one with numbers, one as Debezium has them, one with a large table, and one that does not answer. */
    static void registerBeans(int rows) {
        try {
            register("probe.beans:type=queue,name=\"a,b\",task=main", new Queue(2));
            register("debezium.probe:type=connector-metrics,context=streaming,server=shop,task=0", new Queue(rows));
            register("probe.beans:type=held", new Held());
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void register(String name, Object bean) throws JMException {
        ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName(name));
    }

    /** Attributes of every kind. */
    public interface QueueMXBean {
        long getLength();

        boolean isFull();

        double getAverage();

        Usage getUsage();

        Map<String, Long> getSizes();

        String getText();

        int getBroken();
    }

    /** A composite. */
    public record Usage(long used) {
        public long getUsed() {
            return used;
        }
    }

    private record Queue(int rows) implements QueueMXBean {
        @Override
        public long getLength() {
            return 7;
        }

        @Override
        public boolean isFull() {
            return true;
        }

        @Override
        public double getAverage() {
            return Double.NaN;
        }

        @Override
        public Usage getUsage() {
            return new Usage(5);
        }

        @Override
        public Map<String, Long> getSizes() {
            Map<String, Long> sizes = new TreeMap<>();
            for (int row = 0; row < rows; row++) {
                sizes.put("t" + row, (long) row);
            }
            return sizes;
        }

        @Override
        public String getText() {
            throw new AssertionError("nobody needs texts");
        }

        @Override
        public int getBroken() {
            throw new IllegalStateException("broken");
        }
    }

    /** A bean whose attribute never returns. */
    public interface HeldMXBean {
        int getNever();
    }

    private static final class Held implements HeldMXBean {
        @Override
        public int getNever() {
            while (true) {
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    // Ignored: this is what the test is about.
                }
            }
        }
    }
}
