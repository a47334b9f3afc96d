@sse
Feature: A transport that dies takes nothing with it
  A transport is a process of its own, perhaps somebody else's. When it crashes, the application must not lose a change
  and must not see one twice.

  Background:
    Given a feed of 5 records

  @PLUG-001 @process
  Scenario: The transport's process is killed in the middle of a stream
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the plugin process is killed
    And 2 changes are published
    And everything published has arrived
    Then the plugin was started 2 times
    And request 2 asked to go on from 7
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's

  @PLUG-002 @process
  Scenario: The transport sees no secret of its host
    Whatever is in the environment of the host, passwords often are, is none of the transport's business.

    When the client follows the feed
    And everything published has arrived
    Then the plugin's "environment-canary" is "absent"
    And the consumer has seen exactly: snapshot 5

  @PLUG-003 @process
  Scenario: The transport's process dies again and again
    When the client follows the feed
    And everything published has arrived
    And the plugin process is killed
    And everything published has arrived
    And the plugin process is killed
    And everything published has arrived
    And the plugin process is killed
    And everything published has arrived
    And the plugin process is killed
    And the session is over
    Then the session ended as plugin-crashed
    And the plugin was started 4 times
    And the consumer has seen exactly: snapshot 5

  @PLUG-004
  Scenario Outline: A transport claims <claims>
    It is found out from what the transport says of itself, before anything is opened.

    Given these settings:
      | setting | value    |
      | claims  | <claims> |
    When the client follows the feed
    And 1 change is published
    Then the server has seen exactly 0 requests
    And the consumer has seen exactly: nothing

    @virtual
    Examples:
      | claims         |
      | no baseline    |
      | nobody vouches |

    @virtual @process
    Examples:
      | claims    |
      | no order  |
      | no resume |

  @PLUG-004 @virtual @process
  Scenario: A transport that cannot resume, for an application that keeps no positions
    Given these settings:
      | setting | value     |
      | claims  | no resume |
      | store   | none      |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6

  @PLUG-005 @process
  Scenario Outline: The transport's program <wrong>
    Given these settings:
      | setting | value   |
      | plugin  | <wrong> |
    When the client follows the feed
    Then the plugin's "refusal" is "<why>"
    And the plugin was started 0 times
    And the server has seen exactly 0 requests

    Examples:
      | wrong                  | why                                                                                                                         |
      | speaks first           | its first line on standard output is no handshake, but 'Loading configuration...'; nothing else may be printed there |
      | speaks another version | it speaks protocol version '99', this conform speaks 1                                                                      |
      | shows no certificate   | it presented no certificate: mutual TLS is required (PLUGIN_CLIENT_CERT)                                                    |

  @PLUG-006 @process
  Scenario: An event that is larger than one message between the processes
    Given these faults:
      | fault    | at         | with         |
      | oversize | sequence 6 | bytes 600000 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault oversize has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @PLUG-007
  Scenario Outline: A setting of the transport that is <wrong>
    Given these settings:
      | setting         | value   |
      | option <option> | <value> |
    When the client follows the feed
    Then the server has seen exactly 0 requests
    And the consumer has seen exactly: nothing

    @virtual
    Examples:
      | wrong         | option       | value |
      | unknown       | maxEventByte | 4096  |
      | no word of it | resumeBy     | magic |

    @virtual @process
    Examples:
      | wrong             | option        | value    |
      | above its ceiling | maxEventBytes | 67108865 |
