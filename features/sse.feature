@sse
Feature: Bytes become events only as the standard says
  What the network makes of a stream, where it cuts it and how it ends it, must never show in what the application gets.

  Background:
    Given a feed of 5 records

  @SSE-001 @virtual @process
  Scenario Outline: The connection is cut <where>
    Half an event that looks whole is the worst kind of loss.

    Given these faults:
      | fault | at         | with         | and     |
      | cut   | sequence 7 | keep <bytes> | as <as> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault cut has struck
    And request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's

    Examples:
      | where                     | bytes | as    |
      | in the middle of its id   | 7     | cut   |
      | in the middle of its data | 60    | reset |
      | before its last line end  | 257   | cut   |

  @SSE-002 @virtual @process
  Scenario Outline: The network cuts the bytes where it likes, lines end in <ends>
    Given these faults:
      | fault   | at           | with           | and      |
      | split   | connection 1 | bytes 1        |          |
      | dialect | connection 1 | lineEnd <ends> | bom true |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the gate has counted 0 gaps
    And the server has seen 1 request
    And the consumer's records equal the feed's

    Examples:
      | ends |
      | lf   |
      | crlf |
      | cr   |

  @SSE-003 @virtual @process
  Scenario: The position survives a connection that brought nothing
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then request 2 asked to go on from 6
    And request 3 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SSE-003 @virtual @process
  Scenario: The client asks by a query parameter
    Browsers cannot set a header on their first request; the server takes the position from the address.

    Given these settings:
      | setting         | value     |
      | option resumeBy | parameter |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SSE-004 @virtual
  Scenario: A quiet night
    Nothing changes, but the server says that it is there.

    Given these settings:
      | setting   | value |
      | heartbeat | 25000 |
    When the client follows the feed
    And everything published has arrived
    And 600,000 ms pass
    Then the stream is observed as fresh
    And the server has seen 1 request
    And the consumer has seen exactly: snapshot 5

  @SSE-005 @virtual @process
  Scenario: A login page answers in the stream's place
    Given these faults:
      | fault      | at           | with           |
      | media-type | connection 1 | type text/html |
    When the client follows the feed
    And the session is over
    Then the session ended as bad-media-type
    And the server has seen 1 request
    And the consumer has seen exactly: nothing

  @SSE-006 @virtual @process
  Scenario: An event that cannot be read
    It may have been the change that mattered.

    Given these faults:
      | fault       | at         |
      | undecodable | sequence 7 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault undecodable has struck
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7
    And the gate has counted 1 gaps
    And the consumer's records equal the feed's

  @SSE-006 @virtual @process
  Scenario: An event that is larger than the client allows
    Given these settings:
      | setting              | value |
      | option maxEventBytes | 4096  |
    And these faults:
      | fault    | at         | with       |
      | oversize | sequence 7 | bytes 8192 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault oversize has struck
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7
    And the consumer's records equal the feed's
