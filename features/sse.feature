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
      | fault   | at           | with           | and       |
      | split   | connection 1 | bytes 1        |           |
      | dialect | connection 1 | lineEnd <ends> | perLine 1 |
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
  Scenario Outline: Something else answers in the stream's place, <what>
    Given these faults:
      | fault      | at           | with        | and             |
      | media-type | connection 1 | type <type> | stream <stream> |
    When the client follows the feed
    And the session is over
    Then the session ended as bad-media-type
    And the server has seen 1 request
    And the consumer has seen exactly: nothing

    Examples:
      | what                      | type                | stream |
      | a login page              | text/html           | false  |
      | a type that begins like it | text/event-stream-x | true   |

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

  @SSE-007 @virtual @process
  Scenario: A byte order mark in the middle of the stream
    Only the first one is none of the text. A second one makes a field that nobody knows.

    Given these faults:
      | fault   | at           | with                         |
      | dialect | connection 1 | bom true                     |
      | insert  | sequence 6   | block %EF%BB%BFdata: nothing |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault insert has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the server has seen 1 request

  @SSE-008 @virtual @process
  Scenario: An id that no header can carry
    Given these faults:
      | fault  | at         | with                |
      | insert | sequence 6 | block id: c-7-9%00x |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then the fault insert has struck
    And request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SSE-009 @virtual @process
  Scenario: The server takes its position back, and the application is started again
    Given these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with     |
      | insert | block id |
    And the connection breaks
    And the session is over
    Then the fault insert has struck
    And request 2 asked for a snapshot
    And the store holds nothing
    When the client is started again
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6

  @SSE-009 @virtual @process
  Scenario: The server takes its position back and names a new one
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with      |
      | insert | block id: |
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then the fault insert has struck
    And request 2 asked to go on from 7
    And the store holds 7
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7

  @SSE-010 @virtual @process
  Scenario: The server names a position without an event
    A live client may come back with it. A stored one would be ahead of what was applied: after a crash, a silent gap.

    Given these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with            |
      | insert | block id: c-7-9 |
    And the connection breaks
    And the session is over
    Then request 2 asked to go on from 9
    And the store holds 6
    When the client is started again
    And everything published has arrived
    Then request 3 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SSE-010 @virtual @process
  Scenario: The position without an event lies behind what was applied
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with            |
      | insert | block id: c-7-5 |
    And the connection breaks
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 5
    And the gate has counted 1 duplicates
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7

  @SSE-011 @virtual @process
  Scenario Outline: The server asks not to be called again so soon, <how>
    Lenient readers take 1000x for a second and -1 for at once.

    Given these settings:
      | setting    | value |
      | base wait  | 5     |
      | wait cap   | 40    |
      | jitter     | 0     |
      | retry hint | 60    |
    And these faults:
      | fault  | at         | with          |
      | insert | sequence 6 | block <lines> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then the fault insert has struck
    And wait 1 was <wait> ms
    And request 2 came at least <wait> ms after request 1
    And request 2 asked to go on from 6

    Examples:
      | how                    | lines                                                                   | wait |
      | and then says nonsense | retry: 1000x%0Aretry: -1%0Aretry: 1e3%0Aretry: +5%0Aretry%0Aretry:  100 | 60   |
      | and then even later    | retry: 80                                                               | 80   |

  @SSE-012 @virtual @process
  Scenario: A name without data names nothing
    The name stays with its block; what an event is, its JSON decides.

    Given these faults:
      | fault  | at         | with                                                                                |
      | insert | sequence 6 | block event: gap%0A%0Adata%0A%0Aevent: snapshot%0Adata: {"type":"heartbeat"}         |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault insert has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the server has seen 1 request

  @SSE-013 @virtual @process
  Scenario Outline: The same event on other lines, <how>
    Given these settings:
      | setting | value |
      | changes | mixed |
    And these faults:
      | fault   | at           | with        | and            |
      | dialect | connection 1 | <with>      | tight <tight>  |
    When the client follows the feed
    And everything published has arrived
    And 12 changes are published
    And everything published has arrived
    Then the fault dialect has struck
    And the gate has counted 0 gaps
    And the server has seen 1 request
    And the consumer's records equal the feed's

    Examples:
      | how                   | with      | tight |
      | one member to a line  | perLine 1 | false |
      | without a space       | perLine 0 | true  |

  @SSE-014 @virtual @process
  Scenario: A byte that is no UTF-8
    Given these faults:
      | fault  | at         | with                                                                                          |
      | insert | sequence 6 | block data: {"type":"delta","eventId":"e-%FF","sequence":6,"upserts":[],"deletes":[]} |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the event "e-�" ended as duplicate
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the server has seen 1 request

  @SSE-015 @virtual @process
  Scenario: The media type is written in another way
    Given these faults:
      | fault      | at           | with                                    | and         |
      | media-type | connection 1 | type Text/Event-Stream ; Charset=UTF-8  | stream true |
    When the client follows the feed
    And everything published has arrived
    Then the fault media-type has struck
    And the consumer has seen exactly: snapshot 5
    And the server has seen 1 request

  @SSE-016
  Scenario Outline: The stream has moved within its origin, status <code>
    Given these faults:
      | fault               | at             | with        | times  |
      | redirect            | request resume | code <code> |        |
      | credential-required |                |             | always |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then request 2 was answered with <code>
    And request 3 was answered with 200
    And request 3 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6

    @virtual
    Examples:
      | code |
      | 301  |
      | 302  |
      | 303  |
      | 308  |

    @virtual @process
    Examples:
      | code |
      | 307  |

  @SSE-017 @virtual @process
  Scenario: A redirect leads to another origin
    Whoever is there must not even learn that the client exists, let alone its credential.

    Given these faults:
      | fault    | at           | with                                     |
      | redirect | connection 1 | location http://elsewhere.invalid/stream |
    When the client follows the feed
    And the session is over
    Then the fault redirect has struck
    And the session ended as bad-redirect
    And the plugin's "requests-elsewhere" is "0"
    And the server has seen 1 request

  @SSE-017 @virtual @process
  Scenario: A redirect takes a client elsewhere that comes back
    Given these faults:
      | fault    | at             | with                                     |
      | redirect | request resume | location http://elsewhere.invalid/stream |
    When the client follows the feed
    And everything published has arrived
    And the connection breaks
    And the session is over
    Then the fault redirect has struck
    And the session ended as bad-redirect
    And the plugin's "requests-elsewhere" is "0"
    And the consumer has seen exactly: snapshot 5

  @SSE-017 @virtual
  Scenario Outline: A redirect leads to the same host, but <where>
    Given these faults:
      | fault    | at           | with                |
      | redirect | connection 1 | location <location> |
    When the client follows the feed
    And the session is over
    Then the fault redirect has struck
    And the session ended as bad-redirect
    And the plugin's "requests-elsewhere" is "0"
    And the server has seen 1 request

    Examples:
      | where                     | location                                |
      | to another port           | http://simulator.invalid:8080/stream    |
      | to another scheme         | https://simulator.invalid/stream        |
      | as somebody else's viewer | http://me:pass@simulator.invalid/stream |
      | without saying the scheme | //elsewhere.invalid/stream              |

  @SSE-018 @virtual @process
  Scenario Outline: A redirect leads nowhere, <how>
    Given these faults:
      | fault    | with   | times  |
      | redirect | <with> | always |
    When the client follows the feed
    And the session is over
    Then the session ended as bad-redirect
    And the server has seen exactly <n> requests

    Examples:
      | how                 | with      | n |
      | but in a ring       | code 302  | 6 |
      | without an address  | bare true | 1 |

  @SSE-019 @virtual @process
  Scenario: The server ends the stream for good
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with                                                                              |
      | insert | block data: {"type":"error","terminal":true,"code":"cursor-expired","sequence":7} |
    And the session is over
    Then the fault insert has struck
    And the session ended as protocol-error
    And the server has seen 1 request
    And the store holds 6
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SSE-019 @virtual @process
  Scenario: An error frame with a code that nobody knows, and a secret in its text
    The frame says that something was lost. Nothing else in it is believed, repeated or written down.

    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with                                                                                                                                               |
      | insert | block data: {"type":"error","code":"canary-7f3a9c51e%32","message":"canary-7f3a9c51e%32","retryable":false,"sequence":7,"upserts":[],"deletes":[]} |
    And the server has been asked 2 times
    And everything published has arrived
    Then the fault insert has struck
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6
    And the session is still running

  @SSE-019 @virtual @process
  Scenario: The position expires while the stream is open
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with                                                                                      |
      | insert | block data: {"type":"error","terminal":false,"code":"cursor-expired","message":"trimmed"} |
    And the server has been asked 2 times
    And everything published has arrived
    Then the fault insert has struck
    And the position of 6 was sent 0 times
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6

  @SSE-020 @virtual @process
  Scenario: Frames that are no events of the feed
    They may carry a number, or null, or a type that will be invented next year.

    Given these faults:
      | fault  | at         | with                                                                                                                                                             |
      | insert | sequence 6 | block data: {"type":"heartbeat","sequence":7}%0A%0Adata: {"type":"bookmark","sequence":null,"cursor":"c-7-1"}%0A%0Adata: {"type":"status","status":"delayed","sequence":9} |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then the fault insert has struck
    And request 2 asked to go on from 7
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 duplicates
    And the gate has counted 0 gaps

  @SSE-021 @virtual @process
  Scenario: The viewer's right to the stream ends
    When the client follows the feed
    And everything published has arrived
    And these faults:
      | fault               |
      | authorization-ended |
    And the session is over
    Then the fault authorization-ended has struck
    And the session ended as refused
    And the server has seen 1 request
    And the consumer has seen exactly: snapshot 5

  @SSE-022 @virtual @process
  Scenario: The event that is too large comes back
    A client that asks again and again for what it cannot take asks for ever.

    Given these settings:
      | setting              | value |
      | option maxEventBytes | 4096  |
    And these faults:
      | fault    | at      | with       | times  |
      | oversize | event 1 | bytes 8192 | always |
    When the client follows the feed
    And the session is over
    Then the fault oversize has struck 2 times
    And the session ended as refused with transport-gap
    And the server has seen exactly 2 requests
    And the consumer has seen exactly: nothing

  @SSE-023 @virtual @process
  Scenario: Two positions for one event
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault  | with                                                                                                             |
      | insert | block id: c-7-8%0Adata: {"type":"delta","eventId":"odd","sequence":7,"cursor":"c-7-7","upserts":[],"deletes":[]} |
    And the gate has refused something with checkpoint-conflict
    And the server has been asked 2 times
    And everything published has arrived
    Then the consumer has never seen the event "odd"
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6

  @SSE-024 @virtual @process
  Scenario: The ids of the stream are no positions
    Given these settings:
      | setting     | value |
      | option idIs | none  |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6
