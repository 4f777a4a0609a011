"""The help screens of the tools with commands, in the layout of 3.9.1."""

TRANSACTIONS = {
    "": """\
This tool is used to analyze  the  transactional  state of producers in the
cluster. It can be used to detect and recover from hanging transactions.

optional arguments:
  -h, --help             show this help message and exit
  -v, --version          show the version  of  this  Kafka distribution and
                         exit
  --command-config FILE  property file containing configs  to  be passed to
                         admin client
  --bootstrap-server host:port
                         hostname and port for  the  broker  to connect to,
                         in  the   form   `host:port`    (multiple   comma-
                         separated entries can be given)

commands:
  COMMAND
    list                 list transactions
    describe             describe the state of an active transactional-id
    describe-producers   describe the  states  of  active  producers  for a
                         topic partition
    abort                abort    a    hanging     transaction    (requires
                         administrative privileges)
    find-hanging         find hanging transactions""",
    "list": """\
optional arguments:
  -h, --help             show this help message and exit
  --duration-filter DURATION_FILTER
                         Duration (in millis) to  filter  by:  if  < 0, all
                         transactions will  be  returned;  otherwise,  only
                         transactions running  longer  than  this  duration
                         will be returned""",
    "describe": """\
Describe the state of an active transactional-id.

optional arguments:
  -h, --help             show this help message and exit
  --transactional-id TRANSACTIONAL_ID
                         transactional id""",
    "describe-producers": """\
optional arguments:
  -h, --help             show this help message and exit
  --broker-id BROKER_ID  optional broker id to  describe the producer state
                         on a specific replica
  --topic TOPIC          topic name
  --partition PARTITION  partition number""",
    "abort": """\
optional arguments:
  -h, --help             show this help message and exit
  --topic TOPIC          topic name
  --partition PARTITION  partition number

Brokers on versions 3.0 and above:
  For newer brokers,  only  the  start  offset  of  the  transaction  to be
  aborted is required

  --start-offset START_OFFSET
                         start offset of the transaction to abort

Brokers on versions older than 3.0:
  For older brokers, you must provide all of these arguments

  --producer-id PRODUCER_ID
                         producer id
  --producer-epoch PRODUCER_EPOCH
                         producer epoch
  --coordinator-epoch COORDINATOR_EPOCH
                         coordinator epoch""",
    "find-hanging": """\
optional arguments:
  -h, --help             show this help message and exit
  --broker-id BROKER_ID  broker id to search for hanging transactions
  --max-transaction-timeout MAX_TRANSACTION_TIMEOUT
                         maximum transaction timeout  in  minutes  to limit
                         the scope of the search (15 minutes by default)
  --topic TOPIC          topic name to  limit  search  to  (required  if --
                         partition is specified)
  --partition PARTITION  partition number""",
}
FEATURES = {
    "": """\
This tool manages feature flags in Kafka.

positional arguments:
  {describe,upgrade,downgrade,disable}
    describe             Describes the current active feature flags.
    upgrade              Upgrade one or more feature flags.
    downgrade            Upgrade one or more feature flags.
    disable              Disable one or  more  feature  flags.  This is the
                         same as downgrading the version to zero.

optional arguments:
  -h, --help             show this help message and exit
  --bootstrap-server BOOTSTRAP_SERVER
                         A comma-separated list of  host:port  pairs to use
                         for  establishing  the  connection  to  the  Kafka
                         cluster.
  --bootstrap-controller BOOTSTRAP_CONTROLLER
                         A comma-separated list of  host:port  pairs to use
                         for  establishing  the  connection  to  the  KRaft
                         quorum.
  --command-config COMMAND_CONFIG
                         Property file containing configs  to  be passed to
                         Admin Client.""",
    "describe": """\
optional arguments:
  -h, --help             show this help message and exit""",
    "upgrade": """\
optional arguments:
  -h, --help             show this help message and exit
  --metadata METADATA    The  level  to   which   we   should  upgrade  the
                         metadata. For example, 3.3-IV3.
  --feature FEATURE      A  feature   upgrade   we   should   perform,   in
                         feature=level  format.  For   example:  `metadata.
                         version=5`.
  --dry-run              Validate this upgrade, but do not perform it.""",
    "downgrade": """\
optional arguments:
  -h, --help             show this help message and exit
  --metadata METADATA    The  level  to  which   we  should  downgrade  the
                         metadata. For example, 3.3-IV0.
  --feature FEATURE      A  feature  downgrade   we   should   perform,  in
                         feature=level  format.  For   example:  `metadata.
                         version=5`.
  --unsafe               Perform   this   downgrade   even    if   it   may
                         irreversibly destroy metadata.
  --dry-run              Validate this downgrade, but do not perform it.""",
    "disable": """\
optional arguments:
  -h, --help             show this help message and exit
  --feature FEATURE      A feature flag to disable.
  --unsafe               Disable  this  feature   flag   even   if  it  may
                         irreversibly destroy metadata.
  --dry-run              Perform a dry-run of this disable operation.""",
}

_OF_CLUSTER = """\
optional arguments:
  -h, --help             show this help message and exit
  --bootstrap-server BOOTSTRAP_SERVER, -b BOOTSTRAP_SERVER
                         A list of host/port pairs  to use for establishing
                         the connection to the Kafka cluster.
  --bootstrap-controller BOOTSTRAP_CONTROLLER, -C BOOTSTRAP_CONTROLLER
                         A list of host/port pairs  to use for establishing
                         the connection to the KRaft controllers.
  --config CONFIG, -c CONFIG
                         A property file containing  configurations for the
                         Admin client."""

CLUSTER = {
    "": """\
The Kafka cluster tool.

positional arguments:
  {cluster-id,unregister}
    cluster-id           Get information about the ID of a cluster.
    unregister           Unregister a broker.

optional arguments:
  -h, --help             show this help message and exit""",
    "cluster-id": _OF_CLUSTER,
    "unregister": f"""\
{_OF_CLUSTER}
  --id ID, -i ID         The ID of the broker to unregister.""",
}
