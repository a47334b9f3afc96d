@sse @websocket
Feature: Every change arrives once and in order, or the client starts over
  Somebody who looks at incidents on a map takes the map for the truth. A change that was lost, applied twice or applied
  in the wrong order makes the map wrong for good, and nobody sees it. So the client either applies the next change or
  asks for the whole state again.

  Background:
    Given a feed of 5 records

  @GATE-001 @virtual @process
  Scenario: A change is lost on its way
    Without the rule the map would show change 7 and never change 6.

    Given these faults:
      | fault | at         |
      | gap   | sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault gap has struck
    And the consumer has seen exactly: snapshot 5, snapshot 7
    And upsert 7 ended as resnapshot-required with sequence-gap
    And the gate has counted 1 gaps
    And request 2 asked for a snapshot
    And the consumer's records equal the feed's

  @GATE-002 @virtual @process
  Scenario: A change is delivered twice
    A counter on the map would go up twice.

    Given these faults:
      | fault     | at         |
      | duplicate | sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault duplicate has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And upsert 6 ended as duplicate
    And the gate has counted 1 duplicates
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @GATE-002 @virtual @process
  Scenario: An old change comes again after newer ones
    The record would fall back to what it was before.

    Given these faults:
      | fault | at         | with   |
      | late  | sequence 8 | back 2 |
    When the client follows the feed
    And everything published has arrived
    And 4 changes are published
    And everything published has arrived
    Then the fault late has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the gate has counted 1 duplicates
    And the gate has counted 0 gaps
    And the gate is live
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @GATE-003 @virtual @process
  Scenario Outline: The client was away for longer than the server remembers (<expiry>)
    The server cannot replay what it has forgotten. Going on with what is left would lose it without a word.

    Given the server keeps the last 3 changes
    And these settings:
      | setting | value    |
      | expiry  | <expiry> |
    And these faults:
      | fault | at         | with   |
      | cut   | sequence 6 | keep 0 |
    When the client follows the feed
    And everything published has arrived
    And 4 changes are published
    And everything published has arrived
    Then the position of 5 was sent 1 time
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, snapshot 9
    And the consumer's records equal the feed's
    And the store holds 9

    Examples:
      | expiry   |
      | frame    |
      | gone     |
      | rejected |

  @GATE-003 @virtual @process
  Scenario: The client was away for just as long as the server remembers
    One change less, and nothing has to be loaded again. When the position then does expire, it is asked for once.

    Given the server keeps the last 3 changes
    And these faults:
      | fault          | at           | with   |
      | cut            | sequence 6   | keep 0 |
      | cursor-expired | connection 3 |        |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then request 2 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    When 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then the position of 9 was sent 1 time
    And request 4 asked for a snapshot
    And the consumer's records equal the feed's

  @GATE-003 @virtual @process @odata
  Scenario: The application was closed over night
    The position in its store is dead in the morning. Asking for it again and again would keep it from ever starting.

    Given a stored position at 5
    When 2 changes are published
    And the server forgets all but the last 1 change
    And the client follows the feed
    And everything published has arrived
    Then the position of 5 was sent 1 time
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 7
    And the consumer's records equal the feed's
    And the store holds 7

  @GATE-004 @virtual @process
  Scenario: A cache answers with an old snapshot
    The whole map would go back in time and stay there.

    Given these faults:
      | fault          | at         | with   |
      | stale-snapshot | sequence 7 | back 2 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault stale-snapshot has struck
    And snapshot 5 ended as duplicate
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the gate is live
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @GATE-005 @virtual @process @odata
  Scenario: An event id comes back under another number
    Either number could be the wrong one, so neither is trusted.

    Given these faults:
      | fault     | at         | with |
      | id-reused | sequence 8 | of 6 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault id-reused has struck
    And upsert 8 ended as resnapshot-required with event-id-reused
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 8
    And the consumer's records equal the feed's

  @GATE-006 @virtual @process
  Scenario: Changes come before there is anything to change
    A map that begins with changes shows a few records and hides all others.

    Given these settings:
      | setting | value |
      | mode    | delta |
    When the client follows the feed
    And the server has been asked 1 time
    And 1 change is published
    And everything published has arrived
    Then upsert 6 ended as resnapshot-required with snapshot-required
    And the consumer has seen exactly: snapshot 6
    And request 2 asked for a snapshot
    And the consumer's records equal the feed's

  @GATE-007 @virtual @process
  Scenario Outline: A change carries <what>
    Rounding it, or guessing, would hide a loss.

    Given these faults:
      | fault       | at         | with        |
      | undecodable | sequence 7 | data <json> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the gate has refused something with <reason>
    Then the fault undecodable has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7
    And the consumer's records equal the feed's

    Examples:
      | what                     | json                                                                                     | reason              |
      | no number                | {"type":"upsert","feature":{"id":"8"}}                                                   | sequence-missing    |
      | a number beyond counting | {"type":"upsert","sequence":9007199254740993,"feature":{"id":"8"}}                       | sequence-missing    |
      | half a number            | {"type":"upsert","sequence":7.5,"feature":{"id":"8"}}                                    | sequence-missing    |
      | a negative number        | {"type":"upsert","sequence":-7,"feature":{"id":"8"}}                                     | sequence-missing    |
      | a number that is text    | {"type":"upsert","sequence":"7","feature":{"id":"8"}}                                    | checkpoint-conflict |
      | two different numbers    | {"type":"upsert","sequence":7,"checkpoint":{"sequence":8},"feature":{"id":"8"}}          | checkpoint-conflict |

  @GATE-008 @SESS-007 @virtual @process
  Scenario: The server was restored from a backup
    It counts from a lower number now. A client that waits for its old number to come waits for ever.

    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    And the server is restored from a backup at 6
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 8
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, snapshot 6, upsert 7
    And the consumer's records equal the feed's
    And the store holds 7

  @GATE-009 @virtual
  Scenario: A consumer that cannot keep up, and a server that cannot be slowed down
    64 changes wait; with the next one the client admits that it lost track, instead of growing without bound.

    Given these settings:
      | setting | value   |
      | pacing  | arrival |
    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 64 changes are published
    And the gate has been offered 65 events
    Then the gate has counted 0 overflows
    And the gate is live
    When 1 change is published
    And the gate has refused something with buffer-overflow
    Then upsert 70 ended as resnapshot-required with buffer-overflow
    And the gate has counted 1 overflows
    When the consumer goes on
    And everything published has arrived
    Then upsert 6 ended as cancelled
    And the gate has counted 1 overflows
    And request 2 asked for a snapshot
    And the consumer's records equal the feed's

  @GATE-010 @virtual @process
  Scenario: The consumer fails on a change
    A position that moves past a change that was not applied loses that change at the next start.

    When the client follows the feed
    And everything published has arrived
    And the consumer fails at 7
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And the session is over
    Then the gate is error with consumer-failed
    And upsert 7 ended as error with consumer-failed
    And the store holds 6
    When the client is started again
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the consumer's records equal the feed's

  @GATE-011 @virtual @odata
  Scenario: The position cannot be saved
    Claiming a durability that nobody saw would skip changes after the next start.

    When the client follows the feed
    And everything published has arrived
    And the store fails at 6
    And 2 changes are published
    And the session is over
    Then the gate is error with checkpoint-save-failed
    And the held position is not persisted
    And the store holds 5
    And the consumer has never seen 7
    When the client is started again
    And everything published has arrived
    Then request 2 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 6, upsert 7

  @GATE-012 @virtual @process @odata
  Scenario: A fresh snapshot begins a new list of event ids
    Ids from before it say nothing about the new state; refusing them would stop delivery again and again.

    Given these faults:
      | fault     | at          | with |
      | gap       | sequence 7  |      |
      | id-reused | sequence 10 | of 6 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault id-reused has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 8, upsert 9, upsert 10
    And upsert 10 ended as applied
    And the gate has counted 1 gaps
    And the consumer's records equal the feed's

  @GATE-013 @virtual @process
  Scenario: A consumer that stands still for a while
    The server is read no faster than the application works. Nothing piles up, nothing is thrown away.

    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 200 changes are published
    And the gate has been offered 65 events
    Then the gate has counted 0 overflows
    And the gate is live
    When the consumer goes on
    And everything published has arrived
    Then the gate has counted 0 overflows
    And the gate has counted 0 gaps
    And the gate has counted 201 accepted
    And the server has seen 1 request
    And the consumer's records equal the feed's
    And the store holds 205

  @GATE-014 @virtual @process
  Scenario: A snapshot that only adds comes first after a restart
    Rows that were deleted meanwhile would stay on the map for ever.

    Given a stored position at 5
    And these faults:
      | fault          | at         |
      | merge-snapshot | sequence 6 |
    When the client follows the feed
    And the server has been asked 1 time
    And 1 change is published
    And everything published has arrived
    Then the fault merge-snapshot has struck
    And snapshot 6 ended as resnapshot-required with replacement-snapshot-required
    And request 1 asked to go on from 5
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 6
    And the consumer's records equal the feed's

  @GATE-014 @virtual @process
  Scenario: A snapshot that only adds comes in the middle of a stream
    There it is a change like any other, with the next number.

    Given these faults:
      | fault          | at         |
      | merge-snapshot | sequence 7 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault merge-snapshot has struck
    And snapshot 7 ended as applied
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7, upsert 8
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @GATE-015 @virtual
  Scenario Outline: A change names two places: its <member> stands there twice and differs
    One of the two is wrong. Whoever picks one resumes from a place that perhaps never was.

    Given these faults:
      | fault    | at         | with            |
      | conflict | sequence 7 | member <member> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault conflict has struck
    And the gate has refused something with checkpoint-conflict
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7
    And request 2 asked for a snapshot
    And the consumer's records equal the feed's
    And the store holds 7

    @process
    Examples:
      | member   |
      | cursor   |
      | sequence |

    Examples:
      | member     |
      | timestamp  |
      | watermark  |
      | deltaToken |

  @GATE-016 @virtual @process
  Scenario: The same number comes again under another cursor
    One number cannot be two places. A duplicate would be harmless, this is not known to be one.

    Given these faults:
      | fault        | at         |
      | other-cursor | sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the gate has refused something with checkpoint-conflict
    And everything published has arrived
    Then the fault other-cursor has struck
    And upsert 6 ended as applied
    And upsert 6 ended as resnapshot-required with checkpoint-conflict
    And the gate has counted 0 duplicates
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6
    And the consumer's records equal the feed's

  @GATE-017 @virtual @process
  Scenario: A fresh snapshot brings no place to come back to
    The place of before belongs to the state of before. To go on from there would skip or repeat changes.

    Given these faults:
      | fault       | at           |
      | gap         | sequence 7   |
      | no-position | connection 2 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault no-position has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 8
    When the connection breaks
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the position of 6 was sent 0 times
    And the position of 8 was sent 0 times
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 8, snapshot 8

  @GATE-017 @virtual @process
  Scenario: A change brings no place to come back to
    The place before it still counts, and its number says what must come next.

    Given these faults:
      | fault       | at         | times  |
      | no-position | sequence 7 | always |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the connection breaks
    And the gate has been offered 4 events
    And everything published has arrived
    Then request 2 asked to go on from 6
    And upsert 7 ended as duplicate
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the consumer's records equal the feed's

  @GATE-018 @virtual @process
  Scenario: A consumer that takes no notice of being cancelled, and two fresh snapshots
    Its effect cannot be taken back, so the fresh state has to wait for it. Only the newest of them is worth waiting.

    Given these settings:
      | setting | value   |
      | pacing  | arrival |
    And these faults:
      | fault          | at         | with   |
      | stale-snapshot | sequence 7 | back 0 |
    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 1 change is published
    And the gate has been offered 2 events
    And these faults:
      | fault      |
      | gap-notice |
    And the server has been asked 2 times
    And the gate has been offered 3 events
    And 1 change is published
    And the gate has been offered 5 events
    Then snapshot 6 ended as resnapshot-required
    And upsert 7 ended as resnapshot-required with transport-gap
    And the consumer has seen exactly: snapshot 5
    When the consumer goes on
    And everything published has arrived
    Then upsert 6 ended as cancelled
    And snapshot 7 ended as applied
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 7
    And the gate has counted 1 gaps
    And the store holds 7
    And the consumer's records equal the feed's

  @GATE-019 @virtual @process
  Scenario: Changes come right behind the fresh snapshot, while it is still being applied
    Servers send them at once. Refusing them would make the next one a gap, and so on for ever.

    Given these faults:
      | fault | at         |
      | gap   | sequence 7 |
    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 8
    And 3 changes are published
    And the server has been asked 2 times
    And the gate has been offered 4 events
    And 3 changes are published
    And the gate has been offered 7 events
    Then the consumer has seen exactly: snapshot 5, upsert 6
    When the consumer goes on
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, snapshot 8, upsert 9, upsert 10, upsert 11
    And the gate has counted 1 gaps
    And the server has seen 2 requests
    And the consumer's records equal the feed's

  @GATE-020 @virtual @process
  Scenario: The application closes while a change is still being applied
    Nobody knows any more what became of it. After the next start it comes again.

    Given these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 2 changes are published
    And the gate has been offered 3 events
    And the connection breaks
    And the gate has refused something with closed
    And the consumer goes on
    And the session is over
    Then upsert 6 ended as cancelled
    And upsert 7 ended as cancelled with closed
    And the gate is closed with closed
    And the store holds 5
    When the client is started again
    And everything published has arrived
    Then request 3 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 6, upsert 7
    And the store holds 7
    And the consumer's records equal the feed's

  @GATE-021 @virtual @process
  Scenario Outline: The server says that it lost changes (<as> frame)
    The numbers would fit. The server knows better.

    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And these faults:
      | fault      | with    |
      | gap-notice | as <as> |
    And the server has been asked 2 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault gap-notice has struck
    And request 2 asked for a snapshot
    And the position of 6 was sent 0 times
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6, upsert 7
    And the gate has counted 1 gaps
    And the consumer's records equal the feed's

    Examples:
      | as    |
      | gap   |
      | error |

  @GATE-022 @virtual @process @odata
  Scenario: Only every third place is written down
    Somebody chose speed. What is lost at worst is work that is done again, never a change.

    Given these settings:
      | setting    | value |
      | save every | 3     |
    When the client follows the feed
    And everything published has arrived
    Then the held position is persisted
    When the consumer stands still at 6
    And 5 changes are published
    And the gate has been offered 6 events
    And the store fails at 6
    And the store fails at 7
    And the store fails at 9
    And the consumer goes on
    And everything published has arrived
    Then the session is still running
    And the store holds 10
    And the held position is persisted
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9, upsert 10
