import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.encoder.Encoder;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.LogRecord;
import java.util.zip.GZIPOutputStream;
import net.logstash.logback.encoder.LogstashEncoder;
import org.apache.logging.log4j.core.config.DefaultConfiguration;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.apache.logging.log4j.layout.template.json.JsonTemplateLayout;
import org.apache.logging.log4j.message.SimpleMessage;

/** Runs Java's loggers and keeps what they wrote. */
public class Real {
    static final int N = 600;
    static List<String> messages;
    static Path folder;

    interface Call { String write(int i, int k, String message) throws Exception; }

    static void save(String name, String[] labels, Call call) throws Exception {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < N; i++) {
            int k = i % labels.length;
            for (String line : call.write(i, k, messages.get(i * 7 % messages.size())).stripTrailing().split("\r?\n"))
                out.append(labels[k]).append('\t').append(line).append('\n');
        }
        try (var gz = new GZIPOutputStream(new FileOutputStream(folder.resolve(name + ".gz").toFile()))) {
            gz.write(out.toString().getBytes(StandardCharsets.UTF_8));
        }
    }

    static Throwable thrown(int i) {
        return i % 9 == 4 ? new IllegalStateException("level=info", new RuntimeException("INFO inner")) : null;
    }

    static void logback(String name, Encoder<ILoggingEvent> encoder, LoggerContext context) throws Exception {
        encoder.setContext(context);
        encoder.start();
        var logger = context.getLogger("com.acme.billing.InvoiceService");
        Level[] levels = {Level.TRACE, Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR};
        save(name, new String[] {"trace", "debug", "info", "warn", "error"}, (i, k, m) -> {
            var event = new LoggingEvent("x", logger, levels[k], m, k >= 3 ? thrown(i) : null, null);
            event.setThreadName("http-nio-8080-exec-1");
            return new String(encoder.encode(event), StandardCharsets.UTF_8);
        });
    }

    static PatternLayoutEncoder pattern(String pattern) {
        var encoder = new PatternLayoutEncoder();
        encoder.setPattern(pattern);
        return encoder;
    }

    static void log4j(String name, org.apache.logging.log4j.core.Layout<?> layout) throws Exception {
        // GELF has syslog's levels: no trace, and log4j calls fatal an alert.
        var labels = name.endsWith("gelf") ? new String[] {"debug", "debug", "info", "warn", "error", "alert"}
            : new String[] {"trace", "debug", "info", "warn", "error", "critical"};
        var levels = new org.apache.logging.log4j.Level[] {
            org.apache.logging.log4j.Level.TRACE, org.apache.logging.log4j.Level.DEBUG, org.apache.logging.log4j.Level.INFO,
            org.apache.logging.log4j.Level.WARN, org.apache.logging.log4j.Level.ERROR, org.apache.logging.log4j.Level.FATAL};
        save(name, labels, (i, k, m) -> {
            var event = Log4jLogEvent.newBuilder().setLoggerName("org.apache.kafka.Broker").setLevel(levels[k]).setThreadName("main")
                .setMessage(new SimpleMessage(m)).setThrown(k >= 3 ? thrown(i) : null).setTimeMillis(1789111345408L + i * 1000L).build();
            return new String(layout.toByteArray(event), StandardCharsets.UTF_8);
        });
    }

    public static void main(String[] args) throws Exception {
        messages = Files.readAllLines(Path.of(args[0]));
        folder = Path.of(args[1]);
        var context = new LoggerContext();
        context.setMDCAdapter(new ch.qos.logback.classic.util.LogbackMDCAdapter());
        logback("logback", pattern("%d{HH:mm:ss.SSS} [%thread] %-5level %logger{36} -%kvp- %msg%n".replace(" -%kvp-", " -")), context);
        logback("logback-date", pattern("%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n"), context);
        logback("logback-spring", pattern("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %5p 1 --- [%15.15t] %-40.40logger{39} : %m%n%ex"), context);
        logback("logback-level-first", pattern("%-5level [%thread] %d{\"yyyy-MM-dd HH:mm:ss,SSS\"} App.java:12 - %msg%n"), context);
        logback("logstash-json", new LogstashEncoder(), context);
        var config = new DefaultConfiguration();
        for (var row : new String[][] {
            {"log4j2", "%d %-5p [%t] %c: %m%n"}, {"log4j2-kafka", "[%d] %p %m (%c)%n"}, {"log4j2-default", "%d{HH:mm:ss.SSS} [%t] %-5level %logger{36} - %msg%n"},
            {"log4j2-elastic", "[%d{ISO8601}][%-5p][%-25c{1.}] [node-1] %m%n"}})
            log4j(row[0], PatternLayout.newBuilder().withConfiguration(config).withPattern(row[1]).build());
        for (var row : new String[][] {{"log4j2-ecs", "classpath:EcsLayout.json"}, {"log4j2-gelf", "classpath:GelfLayout.json"}, {"log4j2-json", "classpath:JsonLayout.json"}})
            log4j(row[0], JsonTemplateLayout.newBuilder().setConfiguration(config).setEventTemplateUri(row[1]).build());
        var formatter = new java.util.logging.SimpleFormatter();
        var levels = new java.util.logging.Level[] {java.util.logging.Level.FINEST, java.util.logging.Level.FINE, java.util.logging.Level.CONFIG,
            java.util.logging.Level.INFO, java.util.logging.Level.WARNING, java.util.logging.Level.SEVERE};
        save("jul", new String[] {"trace", "debug", "debug", "info", "warn", "error"}, (i, k, m) -> {
            var record = new LogRecord(levels[k], m);
            record.setLoggerName("com.acme.Main");
            record.setSourceClassName("com.acme.Main");
            record.setSourceMethodName("run");
            if (k >= 4) record.setThrown(thrown(i));
            return formatter.formatMessage(record).isEmpty() ? "" : formatter.format(record);
        });
    }
}
