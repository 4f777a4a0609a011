package joins;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Kafka's own Java client joins a cluster of brokers 0, 1 and 2 and does all that it can there.
 *
 * <p>{@code java -cp 'CLASSES:JARS/*' joins.Joins BOOTSTRAP} prints a line for each case: {@code passed NAME}, or
 * {@code failed NAME: why}. The exit status is 0 when all pass.
 */
final class Joins {
  private interface Case {
    void run() throws Exception;
  }

  private Joins() {}

  public static void main(String[] arguments) {
    Cluster cluster = new Cluster(arguments[0]);
    ClientCases clients = new ClientCases(cluster);
    AdminCases admin = new AdminCases(cluster);
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("every compression", clients::everyCompression);
    cases.put("an idempotent producer", clients::idempotent);
    cases.put("headers, keys, times and nulls", clients::wholeRecords);
    cases.put("transactions", clients::transactions);
    cases.put("consume, transform, produce", clients::consumeTransformProduce);
    cases.put("a fenced producer", clients::fenced);
    cases.put("a group of three", clients::groupOfThree);
    cases.put("a static member comes back", clients::staticMember);
    cases.put("offsets, seeks and resets", clients::offsets);
    cases.put("admin: topics and configs", admin::topics);
    cases.put("admin: replicas", admin::replicas);
    cases.put("admin: groups", admin::groups);
    cases.put("admin: producers and transactions", admin::producers);
    cases.put("errors are Kafka's", admin::errors);
    int failed = 0;
    for (var each : cases.entrySet()) {
      try {
        each.getValue().run();
        System.out.println("passed " + each.getKey());
      } catch (Exception | AssertionError error) {
        failed++;
        System.out.println("failed " + each.getKey() + ": " + error + " at " + place(error));
      }
    }
    cluster.admin.close(Duration.ZERO);
    System.exit(failed == 0 ? 0 : 1);
  }

  private static String place(Throwable error) {
    for (StackTraceElement element : error.getStackTrace()) {
      if (element.getClassName().startsWith("joins.") && !element.getClassName().equals("joins.Cluster")) {
        return element.getMethodName() + ", line " + element.getLineNumber();
      }
    }
    return "?";
  }
}
