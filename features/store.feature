@sse @websocket
Feature: What is written down is true, or it is not used
  A position on disk decides what an application never asks for again. A wrong one is worse than none: without one the
  whole state is loaded once more, with a wrong one something is missing and nobody knows.

  Background:
    Given a feed of 5 records

  @STORE-001 @virtual @process @odata
  Scenario: The application crashes right after its position has expired
    If the dead position were still in the store, every start would begin with it.

    Given a stored position at 5
    And these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When 2 changes are published
    And the server forgets all but the last 1 change
    And the client follows the feed
    And the session is over
    Then the position of 5 was sent 1 time
    And request 2 asked for a snapshot
    And the store holds nothing
    When the client is started again
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the position of 5 was sent 1 time
    And the consumer has seen exactly: snapshot 7
    And the store holds 7

  @STORE-002
  Scenario Outline: What is in the store is of <what>
    It would not fit what the application expects, or the server forgot it long ago.

    Given a stored position at 5 of <what>
    And these settings:
      | setting | value |
      | mode    | delta |
    When the client follows the feed
    And the server has been asked 1 time
    And 1 change is published
    And everything published has arrived
    Then request 1 asked for a snapshot
    And upsert 6 ended as resnapshot-required with <reason>
    And the position of 5 was sent 0 times
    And the consumer has seen exactly: snapshot 6
    And the consumer's records equal the feed's
    And the store holds 6

    @virtual @process
    Examples:
      | what           | reason                 |
      | another schema | schema-version-changed |

    @process
    Examples:
      | what        | reason         |
      | an hour ago | cursor-expired |
      | tomorrow    | cursor-expired |

  @STORE-003 @virtual @process
  Scenario Outline: A store hands over what belongs to <what>
    Somebody else's place in somebody else's stream, under the same key. Using it shows one person what another may see.

    Given a stored position at 5 of <what>
    And these settings:
      | setting | value |
      | mode    | delta |
    When the client follows the feed
    And the server has been asked 1 time
    And 1 change is published
    And everything published has arrived
    Then request 1 asked for a snapshot
    And upsert 6 ended as resnapshot-required with <reason>
    And the position of 5 was sent 0 times
    And the consumer has seen exactly: snapshot 6
    And the consumer's records equal the feed's
    And the store holds 6

    Examples:
      | what           | reason                      |
      | another source | source-changed              |
      | another query  | query-changed               |
      | another viewer | authorization-scope-changed |

  @STORE-004 @virtual @process @odata
  Scenario: The consumer takes its time
    A position that is written before its change was applied skips that change after a crash.

    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 1 change is published
    And the gate has been offered 2 events
    Then the store holds 5
    And the consumer has never seen 6
    When the consumer goes on
    And everything published has arrived
    Then the store holds 6
    And the held position is persisted

  @STORE-005 @virtual @process
  Scenario: Nobody asked for anything to be written down
    Within one run nothing changes. What is not written down is not claimed to be.

    Given these settings:
      | setting | value |
      | store   | none  |
    And these faults:
      | fault  | at           | with     |
      | status | connection 3 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the held position is not persisted
    When the connection breaks
    And everything published has arrived
    Then request 2 asked to go on from 7
    And the held position is not persisted
    When the connection breaks
    And the session is over
    And the client is started again
    And everything published has arrived
    Then request 4 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 7
    And the consumer's records equal the feed's

  @STORE-006 @process
  Scenario: The disk is full
    The map must go on. Only the next start pays for it.

    Given these settings:
      | setting | value  |
      | store   | broken |
    And these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the gate is live
    And the session is still running
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    When the connection breaks
    And the session is over
    And the client is started again
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 7
    And the consumer's records equal the feed's
