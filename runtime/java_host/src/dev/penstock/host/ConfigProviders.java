package dev.penstock.host;

import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.common.metrics.Monitorable;

/** Config providers (KIP-297), each configured once. They are called as in Kafka Connect: for several keys of one path. */
final class ConfigProviders {
    private record Made(ConfigProvider plugin, ClassLoader loader) {}

    private final Plugins plugins;
    private final AtomicInteger count = new AtomicInteger();
    private final Map<Integer, Made> providers = new ConcurrentHashMap<>();

    ConfigProviders(Plugins plugins) {
        this.plugins = plugins;
    }

    /** Creates and configures a provider, and returns its number. */
    Channel.Content make(Plugins.Reference reference, Map<String, String> properties) throws Exception {
        ConfigProvider plugin = plugins.make(reference, ConfigProvider.class);
        ClassLoader loader = plugins.loader(reference);
        Threads.with(loader, () -> {
            plugin.configure(properties);
            if (plugin instanceof Monitorable monitorable) {
                monitorable.withPluginMetrics(PluginRegistries.unread(Map.of()));
            }
            return null;
        });
        int number = count.incrementAndGet();
        providers.put(number, new Made(plugin, loader));
        return out -> out.packInt(number);
    }

    /** Returns the values of those keys that exist at the path, and their time to live in milliseconds, or nil. */
    Channel.Content get(int number, String path, Set<String> keys) throws Exception {
        Made made = providers.get(number);
        if (made == null) {
            throw new IllegalStateException("there is no config provider " + number);
        }
        ConfigData found = Threads.with(made.loader(), () -> made.plugin().get(path, keys));
        Map<String, String> values = found.data().entrySet().stream()
                .filter(each -> keys.contains(each.getKey()) && Objects.nonNull(each.getValue()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        return out -> {
            out.packArrayHeader(2);
            out.packMapHeader(values.size());
            for (Map.Entry<String, String> each : values.entrySet()) {
                Channel.packText(out, each.getKey());
                Channel.packText(out, each.getValue());
            }
            if (found.ttl() == null) {
                out.packNil();
            } else {
                out.packLong(found.ttl());
            }
        };
    }

    /** Closes a provider; its number becomes invalid. */
    Channel.Content close(int number) throws Exception {
        Made made = providers.remove(number);
        if (made != null) {
            Threads.with(made.loader(), () -> {
                made.plugin().close();
                return null;
            });
        }
        return Channel.NOTHING;
    }
}
