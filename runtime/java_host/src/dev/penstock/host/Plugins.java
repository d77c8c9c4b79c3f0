package dev.penstock.host;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginDesc;
import org.apache.kafka.connect.runtime.isolation.PluginScanResult;
import org.apache.kafka.connect.runtime.isolation.PluginSource;
import org.apache.kafka.connect.runtime.isolation.PluginType;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;
import org.apache.kafka.connect.runtime.isolation.ReflectionScanner;
import org.apache.kafka.connect.runtime.isolation.ServiceLoaderScanner;

/** Plugins by location, with a separate class loader for each, using Kafka Connect's rules and classes. */
final class Plugins {
    /** Location of a plugin (a folder with jars, or a jar) and the name of its class. */
    record Reference(String location, String className) {}

    private final Map<String, PluginSource> sources = new ConcurrentHashMap<>();

    private PluginSource source(String location) {
        return sources.computeIfAbsent(location, path -> {
            try {
                return PluginUtils.isolatedPluginSource(
                        Path.of(path), Plugins.class.getClassLoader(), PluginClassLoader::new);
            } catch (IOException e) {
                throw new ConnectException("cannot read the plugin location " + path, e);
            }
        });
    }

    ClassLoader loader(Reference plugin) {
        return source(plugin.location()).loader();
    }

    /**
     * Returns a new object of a plugin's class.
     *
     * @param kind required class of the object
     */
    <T> T make(Reference plugin, Class<T> kind) throws Exception {
        ClassLoader loader = loader(plugin);
        return Threads.with(loader, () -> {
            Class<?> found = Class.forName(plugin.className(), true, loader);
            return kind.cast(found.getDeclaredConstructor().newInstance());
        });
    }

    /** Lists the plugins in a location: those named by service manifests, otherwise those that a scan finds. */
    Channel.Content discover(String location) {
        Set<PluginSource> source = Set.of(source(location));
        List<PluginDesc<?>> declared = inLocation(new ServiceLoaderScanner().discoverPlugins(source));
        List<PluginDesc<?>> found =
                declared.isEmpty() ? inLocation(new ReflectionScanner().discoverPlugins(source)) : declared;
        return out -> {
            out.packArrayHeader(found.size());
            for (PluginDesc<?> plugin : found) {
                out.packArrayHeader(3);
                Channel.packText(out, plugin.typeName());
                Channel.packText(out, plugin.className());
                Channel.packTextOrNil(out, plugin.version());
            }
        };
    }

    /** Returns the plugins whose class is in the location, and not on this program's class path. */
    private static List<PluginDesc<?>> inLocation(PluginScanResult result) {
        List<PluginDesc<?>> found = new ArrayList<>();
        result.forEach(plugin -> {
            if (plugin.loader() instanceof PluginClassLoader) {
                found.add(plugin);
            }
        });
        return found;
    }

    /**
     * Lists the plugin types of one class in a location; none if the location does not contain the class. Finds classes that no
     * service manifest names, as Kafka Connect's scan does.
     */
    Channel.Content find(Reference plugin) throws Exception {
        ClassLoader loader = loader(plugin);
        List<PluginType> types = new ArrayList<>();
        String version = Threads.with(loader, () -> {
            Class<?> found;
            try {
                found = Class.forName(plugin.className(), true, loader);
            } catch (ClassNotFoundException e) {
                return null;
            }
            if (found.getClassLoader() != loader || Modifier.isAbstract(found.getModifiers())) {
                return null;
            }
            for (PluginType type : PluginType.values()) {
                if (type.superClass().isAssignableFrom(found)) {
                    types.add(type);
                }
            }
            Object made = found.getDeclaredConstructor().newInstance();
            return made instanceof Versioned versioned ? versioned.version() : null;
        });
        return out -> {
            out.packArrayHeader(types.size());
            for (PluginType type : types) {
                out.packArrayHeader(3);
                out.packString(type.toString());
                Channel.packText(out, plugin.className());
                Channel.packTextOrNil(out, version);
            }
        };
    }
}
