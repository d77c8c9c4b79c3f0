import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.rest.RESTCatalog;

/** Prints the rows of a table: a line each, its fields by name. */
public final class ReadTable {
    public static void main(String[] arguments) throws Exception {
        try (RESTCatalog catalog = new RESTCatalog()) {
            catalog.initialize(
                    "rest", Map.of("uri", arguments[0], "io-impl", "org.apache.iceberg.hadoop.HadoopFileIO"));
            Table table = catalog.loadTable(TableIdentifier.parse(arguments[1]));
            try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
                for (Record row : rows) {
                    Map<String, Object> fields = new TreeMap<>();
                    table.schema().columns().forEach(column -> fields.put(column.name(), row.getField(column.name())));
                    System.out.println(fields);
                }
            }
        }
    }
}
