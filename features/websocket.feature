@websocket
Feature: A socket says more than bytes, and all of it counts
  Frames, close codes and pings each say something about the stream. A client that shrugs them off loses changes without a sign,
  or knocks at a door that was closed for good.

  Background:
    Given a feed of 5 records

  @WS-001 @virtual @process
  Scenario Outline: The server sends <what>
    Libraries accept most of these. What follows is read out of step, and is somebody's data.

    Given these faults:
      | fault   | at                       | with   |
      | <fault> | connection 1, sequence 6 | <with> |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault <fault> has struck
    And the server has received a close with <code>
    And request 2 asked to go on from <from>
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's

    Examples:
      | what                                   | fault              | with           | code | from |
      | a masked frame                         | masked-frame       |                | 1002 | 5    |
      | a reserved bit that means nothing      | reserved-bit       |                | 1002 | 5    |
      | an opcode that means nothing           | bad-opcode         | opcode 3       | 1002 | 5    |
      | a control opcode that means nothing    | bad-opcode         | opcode 11      | 1002 | 5    |
      | a message inside another one           | torn-message       |                | 1002 | 5    |
      | a continuation of nothing              | stray-continuation |                | 1002 | 6    |
      | a ping of 126 bytes                    | big-ping           |                | 1002 | 6    |
      | half a ping                            | big-ping           | final false    | 1002 | 6    |
      | text that is no text                   | bad-utf8           |                | 1007 | 5    |
      | a length in a longer form than needed  | raw                | hex 817e000161 | 1002 | 6    |
      | a close frame with half a code         | raw                | hex 880103     | 1002 | 6    |

  @WS-002 @virtual @process
  Scenario: The server breaks the rules at the same place again
    One more try is fair: it may have been a bad night. The next one is a loop.

    Given these faults:
      | fault        | at         | times  |
      | masked-frame | sequence 6 | always |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the session is over
    Then the session ended as protocol-error
    And the consumer has never seen 6
    And the server has seen exactly 2 requests
    And the store holds 5

  @WS-003 @virtual @process
  Scenario: A message comes in pieces, with a ping between them
    The ping is answered, and the pieces are one message.

    Given these faults:
      | fault    | at         | with    |
      | fragment | sequence 6 | count 7 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the server has heard 1 time
    And the connection breaks
    And everything published has arrived
    Then the fault fragment has struck
    And the server has received a pong
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps

  @WS-004 @virtual @process
  Scenario Outline: The server closes with <code>
    Given these faults:
      | fault | at                       | with        | and              |
      | close | connection 1, sequence 6 | code <code> | wasClean <clean> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the server has been asked 2 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps

    Examples:
      | code | clean |
      | 1001 | true  |
      | 1006 | false |
      | 0    | true  |
      | 1011 | true  |

  @WS-005 @virtual @process
  Scenario Outline: The server closes for good with <code>
    Who comes back all the same is part of the trouble.

    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault | at           | with        |
      | close | connection 1 | code <code> |
    And the session is over
    Then the session ended as <ending>
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the server has seen exactly 1 request

    Examples:
      | code | ending         |
      | 1000 | server-stop    |
      | 1002 | protocol-error |
      | 1003 | protocol-error |
      | 1007 | protocol-error |
      | 1008 | refused        |
      | 1010 | protocol-error |
      | 1100 | protocol-error |
      | 3000 | refused        |
      | 4004 | refused        |

  @WS-006 @virtual
  Scenario Outline: The server closes everybody with <code>
    A thousand clients that come back at the same moment are the next outage.

    Given these settings:
      | setting | value |
      | jitter  | 0     |
    And these faults:
      | fault | at                       | with        |
      | close | connection 1, sequence 6 | code <code> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the client has waited 1 time
    Then wait 1 was from <least> to <most> ms
    When 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7

    Examples:
      | code | least  | most   |
      | 1012 | 250    | 5,000  |
      | 1013 | 15,000 | 30,000 |
      | 1014 | 15,000 | 30,000 |

  @WS-007 @virtual @process
  Scenario: A message is too large for somebody on the way, twice
    The third try would meet the same message.

    Given these faults:
      | fault | at                       | with      |
      | close | connection 1, sequence 6 | code 1009 |
      | close | connection 2             | code 1009 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the server has been asked 3 times
    And everything published has arrived
    Then request 2 asked to go on from 6
    And request 3 asked for a snapshot
    And the position of 6 was sent 1 time
    And the consumer's records equal the feed's

  @WS-008 @virtual
  Scenario: The network is gone and the socket does not know
    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    And these faults:
      | fault   | at           |
      | no-pong | connection 1 |
    When the client follows the feed
    And everything published has arrived
    And 61,000 ms pass
    And everything published has arrived
    Then request 2 asked to go on from 5
    And request 2 came at least 30,001 ms after request 1
    And the server has received no close
    And the gate has counted 0 gaps

  @WS-009 @virtual
  Scenario: Nothing is said for three minutes, and the socket lives
    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    When the client follows the feed
    And everything published has arrived
    And 180,000 ms pass
    Then the stream is observed as fresh
    And the server has seen exactly 1 request
    And the server has received a ping

  @WS-010 @virtual @process
  Scenario: The server announces that it will go
    The new connection stands before the old one is let go. In between a change comes twice, and never not at all.

    Given these faults:
      | fault        | at                       |
      | closing-soon | connection 1, sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And the server has been asked 2 times
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the server has been left 1 time
    Then the fault closing-soon has struck
    And the server has received a close with 1000
    And the server has seen exactly 2 requests
    And the gate has counted 0 gaps
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the consumer's records equal the feed's

  @WS-011 @virtual @process
  Scenario: The server says that it forgot this session
    A number without its session looks legitimate, and is not.

    Given these settings:
      | setting           | value        |
      | option closeCodes | 4009=expired |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault | at           | with      |
      | close | connection 1 | code 4009 |
    And the server has been asked 2 times
    And everything published has arrived
    Then request 2 asked for a snapshot
    And the position of 6 was sent 0 times
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6

  @WS-012 @virtual @process
  Scenario: Bytes come where text was agreed on
    What they hold may have been a change. It is not guessed.

    Given these faults:
      | fault  | at                       |
      | binary | connection 1, sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the server has been asked 2 times
    And everything published has arrived
    Then the server has received a close with 1003
    And request 2 asked for a snapshot
    And the position of 5 was sent 0 times
    And the consumer has seen exactly: snapshot 5, snapshot 6

  @WS-013 @virtual @process
  Scenario Outline: The upgrade is answered with <what>
    Given these faults:
      | fault   | at           |
      | <fault> | connection 1 |
    When the client follows the feed
    And the session is over
    Then the session ended as protocol-error
    And the consumer has seen exactly: nothing
    And the server has seen exactly 1 request

    Examples:
      | what                               | fault             |
      | the key of somebody else           | wrong-accept      |
      | a subprotocol that nobody asked for | wrong-subprotocol |
      | an extension that nobody asked for | wrong-extension   |
      | another protocol                   | wrong-upgrade     |

  @WS-014 @virtual @process
  Scenario Outline: Messages are compressed, and <how>
    Given these settings:
      | setting            | value   |
      | compression        | <agree> |
      | option compression | deflate |
    And these faults:
      | fault    | at         | with    |
      | fragment | sequence 7 | count 5 |
    When the client follows the feed
    And everything published has arrived
    And 4 changes are published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the server has seen exactly 1 request
    And the consumer's records equal the feed's

    Examples:
      | how                             | agree       |
      | each stands on the one before   | takeover    |
      | each stands alone               | each        |
      | the server does not want it     | none        |
