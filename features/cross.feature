@sse @websocket @odata
Feature: The same thing happens on every wire, and the same thing comes of it
  Who changes the wire must not have to think about loss again. One feed, one table of results: the wires may differ in how they say
  it, and not in what the application gets.

  Background:
    Given the feed that every wire is run against

  @XTC-001 @virtual @process
  Scenario: steady-state
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2
    And the event "snapshot-1" ended as applied
    And the event "delta-2" ended as applied
    And the gate has counted 0 duplicates
    And the gate has counted 0 gaps
    And the gate has counted 0 overflows
    And the consumer's records equal the feed's at 2

  @XTC-001 @virtual @process
  Scenario: transport-duplicate
    Given these faults:
      | fault     | at         |
      | duplicate | sequence 2 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the gate has been offered 3 events
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2
    And the gate has counted 1 duplicates
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's at 2

  @XTC-001 @virtual @process
  Scenario: reorder
    Given these faults:
      | fault          | at         | with   |
      | stale-snapshot | sequence 2 | back 1 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the gate has been offered 3 events
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2
    And the gate has counted 1 duplicates
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's at 2

  @XTC-001 @virtual @process
  Scenario: sequence-gap
    Given these faults:
      | fault | at                           | with   |
      | gap   | sequence 2                   | skip 2 |
      | jump  | sequence 4, request snapshot |        |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And the gate has refused something with sequence-gap
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, snapshot 100, delta 101
    And the consumer has never seen the event "gap-4"
    And the event "snapshot-100" ended as applied
    And the event "delta-101" ended as applied
    And the gate has counted 1 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @process @only-sse @only-websocket
  Scenario: forced-disconnect
    Given these settings:
      | setting | value     |
      | store   | none      |
      | claims  | no resume |
    And these faults:
      | fault | at                           |
      | jump  | sequence 2, request snapshot |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, snapshot 100, delta 101
    And the gate has counted 1 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @only-odata
  Scenario: forced-disconnect, of a service that stays away
    Given these faults:
      | fault | at                           |
      | jump  | sequence 2, request snapshot |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | at             | with     | times |
      | status | request resume | code 500 | 6     |
    And the gate has been offered 3 events
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault status has struck 6 times
    And the consumer has seen exactly: snapshot 1, delta 2, snapshot 100, delta 101
    And the gate has counted 1 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @process
  Scenario: forced-disconnect, and the server vouches for the resume
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks, where one is held
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, delta 3
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 3

  @XTC-001 @virtual @process
  Scenario: slow-consumer-backpressure
    Given these settings:
      | setting     | value   |
      | max pending | 1       |
      | pacing      | arrival |
    And these faults:
      | fault | at                           |
      | jump  | sequence 3, request snapshot |
    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 2
    And 1 change is published
    And the consumer has come to stand still
    And 1 change is published
    And the gate has refused something with buffer-overflow
    And a snapshot has been required 1 time
    And the consumer goes on
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, snapshot 100, delta 101
    And the event "delta-2" ended as cancelled
    And the gate has counted 1 overflows
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @process
  Scenario: cursor-expiry
    Given these faults:
      | fault | at                           |
      | jump  | sequence 2, request snapshot |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault          | at             |
      | cursor-expired | request resume |
    And the connection breaks, where one is held
    And the gate has been offered 3 events
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, snapshot 100, delta 101
    And the fault cursor-expired has struck
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @process
  Scenario: explicit-resnapshot
    Given these faults:
      | fault | at                           |
      | jump  | sequence 2, request snapshot |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the application asks for a snapshot with resume-unsupported
    And the gate has been offered 3 events
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, snapshot 100, delta 101
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's at 101

  @XTC-001 @virtual @process
  Scenario: cancellation
    When the client follows the feed
    And everything published has arrived
    And the application closes the client twice
    And 1 change is published
    Then the consumer has seen exactly: snapshot 1
    And the gate is closed with closed
    And the consumer's records equal the feed's at 1

  @XTC-001 @virtual @process
  Scenario: terminal-repeated-disposal
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | at             | with                                                                              |
      | insert | wire sse       | block event: error%0Adata: {"type":"error","terminal":true,"code":"invalid-event"} |
      | insert | wire websocket | block {"type":"error","terminal":true,"code":"invalid-event"}                     |
      | status | wire odata     | code 400                                                                          |
    And the session is over
    And the application closes the client twice
    Then the consumer has seen exactly: snapshot 1, delta 2
    And the session ended as an error
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's at 2

  @XTC-002 @virtual @process
  Scenario: A position of another wire is offered
    Wires may number alike and mean something else. A position is only good where it came from.

    Given a stored position at 1 of another wire
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2
    And the consumer's records equal the feed's at 2
