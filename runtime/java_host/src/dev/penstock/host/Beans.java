package dev.penstock.host;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import org.msgpack.core.MessagePacker;

/** JMX beans of plugins: reads numeric attributes from the MBean server of this JVM. No port is opened. */
final class Beans {
    /** Java's own beans, and those of Kafka clients. */
    private static final Pattern OTHERS =
            Pattern.compile("JMImplementation|(java|jdk|com\\.sun|sun)\\..*|org\\.apache\\.logging\\..*"
                    + "|kafka\\.(producer|consumer|admin\\.client)");
    /** Types of attributes that may contain numbers. Getters of other types are never called. */
    private static final Set<String> TYPES = Set.of(
            "byte", "short", "int", "long", "float", "double", "boolean",
            "java.lang.Byte", "java.lang.Short", "java.lang.Integer", "java.lang.Long", "java.lang.Float",
            "java.lang.Double", "java.lang.Boolean", "java.lang.Number", "java.lang.Object",
            CompositeData.class.getName(), TabularData.class.getName());

    private final ObjectName name;
    private final List<MetricsReader.Reading> found = new ArrayList<>();

    private Beans(ObjectName name) {
        this.name = name;
    }

    /** All beans, in a fixed order. */
    static List<MetricsReader.Source> sources() {
        if (MBeanServerFactory.findMBeanServer(null).isEmpty()) {
            return List.of(); // no plugin has used the server, so there is no bean, and the server need not be created
        }
        List<MetricsReader.Source> sources = new ArrayList<>();
        for (ObjectName name : new TreeSet<>(server().queryNames(null, null))) {
            if (!OTHERS.matcher(name.getDomain()).matches()) {
                sources.add(new MetricsReader.Source(name, "the JMX bean " + name, () -> new Beans(name).read()));
            }
        }
        return sources;
    }

    private static MBeanServer server() {
        return ManagementFactory.getPlatformMBeanServer();
    }

    private List<MetricsReader.Reading> read() throws JMException {
        List<String> attributes = new ArrayList<>();
        for (MBeanAttributeInfo each : server().getMBeanInfo(name).getAttributes()) {
            if (each.isReadable() && TYPES.contains(each.getType())) {
                attributes.add(each.getName());
            }
        }
        Map<String, String> properties = properties();
        // Attributes whose getters throw are missing from the result.
        for (Attribute each : server().getAttributes(name, attributes.toArray(String[]::new)).asList()) {
            add(each.getName(), properties, each.getValue(), false);
        }
        return found;
    }

    /** Returns the key properties: the first as written, then the others sorted by name. */
    private Map<String, String> properties() {
        String written = name.getKeyPropertyListString();
        String first = written.substring(0, written.indexOf('='));
        Map<String, String> ordered = new LinkedHashMap<>();
        ordered.put(first, null);
        ordered.putAll(new TreeMap<>(name.getKeyPropertyList()));
        ordered.replaceAll((key, text) -> text.startsWith("\"") ? ObjectName.unquote(text) : text);
        return ordered;
    }

    private void add(String attribute, Map<String, String> properties, Object value, boolean isOfTable) {
        Double number = MetricsReader.number(value);
        if (number != null) {
            found.add(new MetricsReader.Reading(out -> pack(out, attribute, properties, number), isOfTable));
        } else if (value instanceof CompositeData composite) {
            for (String key : composite.getCompositeType().keySet()) {
                add(attribute + "_" + key, properties, composite.get(key), isOfTable);
            }
        } else if (value instanceof TabularData table) {
            addRows(attribute, properties, table);
        }
    }

    /** Adds the rows of a table, whose index becomes properties; a map is a table of "key" and "value". */
    private void addRows(String attribute, Map<String, String> properties, TabularData table) {
        List<String> index = table.getTabularType().getIndexNames();
        for (Object row : table.values()) {
            CompositeData columns = (CompositeData) row;
            Map<String, String> ofRow = new LinkedHashMap<>(properties);
            index.forEach(key -> ofRow.put(key, String.valueOf(columns.get(key))));
            for (String column : columns.getCompositeType().keySet()) {
                if (!index.contains(column)) {
                    String path = column.equals("value") ? attribute : attribute + "_" + column;
                    add(path, ofRow, columns.get(column), true);
                }
            }
        }
    }

    private void pack(MessagePacker out, String attribute, Map<String, String> properties, double value) throws IOException {
        out.packArrayHeader(4);
        Channel.packText(out, name.getDomain());
        Channel.packText(out, attribute);
        MetricsReader.pack(out, properties);
        out.packDouble(value);
    }
}
