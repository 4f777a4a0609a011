// The elements of a standalone page: those of the lab page that do not need a lab.
import "../../screens/alarms/index.js";
import "../../shell/bars.js";
import "../../inspect/changes.js";
import "../../screens/clients/groups.js";
import "../../inspect/index.js";
import "../../shell/inspector.js";
import "../../shell/notices.js";
import "../../screens/clients/producers.js";
import "../../inspect/record.js";
import "../../inspect/rpc_lists.js";
import "../../shell/table.js";
import "../../screens/clients/transactions.js";
import "../../shell/transport.js";
import "../../screens/zookeeper/tree.js";
import "../../screens/zookeeper/znode.js";
import "../../screens/zookeeper/index.js";
import "./about.js";
