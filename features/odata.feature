@odata
Feature: A collection that is asked again and again tells everything, or says that it cannot
  Nobody holds a connection here. What was missed between two questions has to be in the next answer, and when the service has
  forgotten, the client must notice, also when the answer looks like every other.

  Background:
    Given a feed of 5 records

  @ODATA-001 @virtual @process
  Scenario Outline: The state comes on several pages, <how>
    Who stops at the first page, or at an empty one, shows a map with half of the incidents on it.

    Given these settings:
      | setting   | value |
      | page size | 2     |
    And these faults:
      | fault   | at           |
      | <fault> | connection 1 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault <fault> has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the server has seen at least 6 requests
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's
    And the store holds 8

    Examples:
      | how                                  | fault       |
      | some of them empty                   | empty-pages |
      | and the first one has both links     | both-links  |
      | and their members are in disorder    | any-order   |

  @ODATA-001 @virtual @process
  Scenario: A service that speaks the older version of the protocol
    Given these settings:
      | setting       | value  |
      | page size     | 1      |
      | odata version | 4.0    |
      | changes       | mixed  |
    When the client follows the feed
    And everything published has arrived
    And 12 changes are published
    And everything published has arrived
    Then the consumer's records equal the feed's
    And the gate has counted 0 gaps
    And the gate has counted 13 accepted
    And the session is still running

  @ODATA-002 @virtual @process
  Scenario Outline: A row is gone, as <what>
    A row that stays on the map because its end was written in another way is a wrong map.

    Given these settings:
      | setting       | value     |
      | odata version | <version> |
      | changes       | delete    |
    And these faults:
      | fault   | at         | with   | and   |
      | <fault> | sequence 6 | <with> | <and> |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault <fault> has struck
    And the consumer has seen exactly: snapshot 5, delete 6, delete 7
    And the consumer's records equal the feed's

    Examples:
      | what                               | version   | fault        | with          | and            |
      | a removed entry with its id        | 4.01      | removed-form | by id         |                |
      | a removed entry with its key alone | 4.01      | removed-form | by key        | reason none    |
      | a row that left the filter         | 4.01      | removed-form | by both       | reason changed |
      | a deleted entity                   | 4.0       | removed-form | as context    |                |
      | a deleted entity without a reason  | 4.0       | removed-form | as context    | reason none    |
      | the older removed annotation       | 4.0       | removed-form | as annotation |                |
      | a removed entry that says it last  | 4.01      | any-order    | of entries    |                |

  @ODATA-003 @virtual @process
  Scenario Outline: The service tells of a relationship between rows, <kind>
    There is no row for it. To pass over it would be to lose it.

    Given these settings:
      | setting   | value |
      | page size | 1     |
    And these faults:
      | fault              | at         | with      | times  |
      | relationship-entry | sequence 6 | as <kind> | always |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And the session is over
    Then the fault relationship-entry has struck
    And the session ended as protocol-error
    And the consumer has seen exactly: snapshot 5
    And the store holds 5

    Examples:
      | kind        |
      | link        |
      | deletedLink |

  @ODATA-004 @virtual @process
  Scenario Outline: One round lists a row more than once, <how>
    Only the last word is true, wherever it stands.

    Given these settings:
      | setting | value     |
      | changes | <changes> |
    And these faults:
      | fault   | at         | with   |
      | <fault> | sequence 6 | <with> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault <fault> has struck
    And the gate has counted 2 accepted
    And the consumer's records equal the feed's
    And the session is still running

    Examples:
      | how                           | changes | fault          | with        |
      | as it was and as it is        | upsert  | twice-in-round | pages false |
      | over two pages                | upsert  | twice-in-round | pages true  |
      | as changed, gone and back     | upsert  | back-and-forth |             |
      | as changed before it was gone | delete  | back-and-forth |             |

  @ODATA-005 @virtual @process
  Scenario: Something is gone that was never there
    Given these faults:
      | fault             | at         |
      | unknown-tombstone | sequence 6 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault unknown-tombstone has struck
    And the gate has counted 3 accepted
    And the session is still running
    And the consumer's records equal the feed's
    And the store holds 7

  @ODATA-006
  Scenario Outline: A <which> link leads <where>
    Whoever is there must not even learn that the client exists, let alone its credential.

    Given these faults:
      | fault        | at           | with         | and                    |
      | foreign-link | connection 1 | link <which> | as <as>                |
      | foreign-link | connection 2 | link <which> | host elsewhere.invalid |
    When the client follows the feed
    And the session is over
    Then the fault foreign-link has struck
    And the session ended as protocol-error
    And the server has seen exactly 1 request
    And the plugin's "requests-elsewhere" is "0"
    And the consumer has seen exactly: nothing

    @virtual @process
    Examples:
      | which | as          | where                       |
      | next  | path        | to another collection       |
      | delta | longer-path | to one whose name is longer |
      | delta | userinfo    | to somebody else's account  |
      | next  | port        | to another port             |

    @virtual
    Examples:
      | which | as             | where                              |
      | next  | origin         | to another origin                  |
      | delta | origin         | to another origin                  |
      | delta | network        | away without saying the scheme     |
      | next  | dot-path       | up and down to another collection  |
      | delta | case           | to another case                    |
      | next  | scheme         | to another scheme                  |
      | delta | host-suffix    | to a host that begins like ours    |
      | next  | host-behind-at | to a host behind an account        |

  @ODATA-006 @process
  Scenario Outline: A <which> link leads to somebody who listens
    Given these faults:
      | fault        | at           | with         | and                    |
      | foreign-link | connection 1 | link <which> | host elsewhere.invalid |
    When the client follows the feed
    And the session is over
    Then the session ended as protocol-error
    And the server has seen exactly 1 request
    And the plugin's "requests-elsewhere" is "0"

    Examples:
      | which |
      | next  |
      | delta |

  @ODATA-006 @virtual @process
  Scenario: A poll is redirected to another origin
    Given these faults:
      | fault    | at             | with                                            |
      | redirect | request resume | location http://elsewhere.invalid/odata/x?token |
    When the client follows the feed
    And the session is over
    Then the fault redirect has struck
    And the session ended as bad-redirect
    And the plugin's "requests-elsewhere" is "0"
    And the consumer has seen exactly: snapshot 5

  @ODATA-006 @virtual @process
  Scenario: The service names a place to begin anew that is not its own
    The state is loaded again from where the application said.

    Given these faults:
      | fault        | at           | with          | and                    |
      | foreign-link | connection 2 | link location | host elsewhere.invalid |
    When the client follows the feed
    And the server has been asked 3 times
    And 1 change is published
    And everything published has arrived
    Then the fault foreign-link has struck
    And request 2 was answered with 410
    And request 3 asked for a snapshot
    And the plugin's "requests-elsewhere" is "0"
    And the consumer's records equal the feed's

  @ODATA-007 @virtual @process
  Scenario Outline: Links are written <how>
    All of these lead to the collection. Refusing them would stop at a service that does nothing wrong.

    Given these settings:
      | setting   | value |
      | page size | 2     |
    And these faults:
      | fault     | with    | times  |
      | link-form | as <as> | always |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault link-form has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the session is still running

    Examples:
      | how                       | as           |
      | in full                   | absolute     |
      | in capitals               | upper        |
      | with the port             | default-port |
      | relative to the service   | relative     |
      | as a query alone          | query        |

  @ODATA-008 @virtual @process
  Scenario: The application comes back too late, and rows were deleted meanwhile
    The service forgot how it came to where it is. A list of all rows has no word on those that are gone.

    Given these settings:
      | setting | value  |
      | changes | delete |
    When the client follows the feed
    And everything published has arrived
    And these faults:
      | fault  | at             | with     |
      | status | request resume | code 403 |
    And the session is over
    And 2 changes are published
    And the server forgets all but the last 1 change
    And the client is started again
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, snapshot 7
    And the consumer's records equal the feed's
    And the store holds 7

  @ODATA-008 @virtual @process
  Scenario: The application ends right after its position has expired
    If the dead position were still in the store, every start would begin with it.

    Given a stored position at 5
    And these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 403 |
    When 2 changes are published
    And the server forgets all but the last 1 change
    And the client follows the feed
    And the session is over
    Then request 1 asked to go on from 5
    And request 1 was answered with 410
    And request 2 asked for a snapshot
    And the store holds nothing
    When the client is started again
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the position of 5 was sent 1 time
    And the consumer has seen exactly: snapshot 7
    And the store holds 7

  @ODATA-009 @virtual @process
  Scenario: The service says where to begin anew
    Given these faults:
      | fault           | at           |
      | location-on-410 | connection 2 |
    When the client follows the feed
    And the server has been asked 3 times
    And 1 change is published
    And everything published has arrived
    Then request 2 was answered with 410
    And request 3 was answered with 200
    And the session is still running
    And the consumer's records equal the feed's

  @ODATA-009 @virtual @process
  Scenario Outline: The place where the service says to begin anew answers <code>
    Given these faults:
      | fault           | at           | with        |
      | location-on-410 | connection 2 |             |
      | status          | connection 3 | code <code> |
    When the client follows the feed
    And the server has been asked 4 times
    And 1 change is published
    And everything published has arrived
    Then request 3 was answered with <code>
    And request 4 was answered with 200
    And the session is still running
    And the consumer's records equal the feed's

    Examples:
      | code |
      | 404  |
      | 500  |

  @ODATA-010 @virtual @process
  Scenario: The state is forgotten while it is being read
    Half of it looks complete to whoever sees it.

    Given these settings:
      | setting   | value |
      | page size | 2     |
    And these faults:
      | fault             | at           |
      | expired-in-paging | connection 3 |
    When the client follows the feed
    And the server has been asked 6 times
    And everything published has arrived
    Then request 3 was answered with 410
    And request 4 asked for a snapshot
    And the consumer has seen exactly: snapshot 5
    And the consumer's records equal the feed's

  @ODATA-011 @virtual @process
  Scenario: Every position is dead, for ever
    Loading everything again and again is no following; it must end, and say so.

    Given these faults:
      | fault          | times  |
      | cursor-expired | always |
    When the client follows the feed
    And the session is over
    Then the session ended as attempts-used-up
    And the server has seen exactly 8 requests
    And request 8 was answered with 410

  @ODATA-011 @virtual @process
  Scenario: Positions die now and then
    Given these faults:
      | fault          | at           |
      | cursor-expired | connection 2 |
      | cursor-expired | connection 4 |
      | cursor-expired | connection 6 |
      | cursor-expired | connection 9 |
      | cursor-expired | connection 11 |
    When the client follows the feed
    And the server has been asked 13 times
    And 1 change is published
    And everything published has arrived
    Then the fault cursor-expired has struck 5 times
    And request 8 was answered with 200
    And the session is still running
    And the consumer's records equal the feed's

  @ODATA-012 @virtual @process
  Scenario: Expiry is told in a way that the application declared
    Given these settings:
      | setting              | value         |
      | option expiredStatus | 400           |
      | option expiredCode   | stamp-expired |
    And these faults:
      | fault      | at           |
      | expired-as | connection 2 |
    When the client follows the feed
    And the server has been asked 3 times
    And 1 change is published
    And everything published has arrived
    Then request 2 was answered with 400
    And request 3 asked for a snapshot
    And the session is still running
    And the consumer's records equal the feed's

  @ODATA-012 @virtual @process
  Scenario Outline: A status is taken for nothing that was not declared, <what>
    The text of an error is for people. To guess from it is to load everything again for a wrong address.

    Given these settings:
      | setting              | value    |
      | option expiredStatus | <status> |
      | option expiredCode   | <code>   |
    And these faults:
      | fault      | at           |
      | expired-as | connection 2 |
    When the client follows the feed
    And the session is over
    Then the session ended as refused
    And the consumer has seen exactly: snapshot 5
    And the server has seen exactly 2 requests
    And the store holds 5

    Examples:
      | what           | status | code          |
      | another code   | 400    | not-this-one  |
      | another status | 404    | stamp-expired |

  @ODATA-013
  Scenario Outline: The service wants to be left alone for <seconds> s, status <code>
    Who loads everything again because of it makes it worse.

    Given these faults:
      | fault  | at           | with        | and                  |
      | status | connection 2 | code <code> | retryAfter <seconds> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 was answered with <code>
    And request 3 came at least <ms> ms after request 2
    And request 3 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the gate has counted 0 gaps

    @virtual @process
    Examples:
      | code | seconds | ms    |
      | 429  | 1       | 1,000 |

    @virtual
    Examples:
      | code | seconds | ms     |
      | 429  | 20      | 20,000 |
      | 503  | 20      | 20,000 |

  @ODATA-014 @virtual
  Scenario: The service fails, and is asked the same thing five times more
    Given these faults:
      | fault  | at             | with     | times |
      | status | request resume | code 500 | 6     |
    When the client follows the feed
    And the server has been asked 8 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 7 asked to go on from 5
    And request 7 was answered with 500
    And request 8 asked for a snapshot
    And the gate has counted 1 gaps
    And the store holds 6
    And the consumer's records equal the feed's

  @ODATA-014 @virtual
  Scenario: The service fails for a moment
    Given these faults:
      | fault  | at             | with     | times |
      | status | request resume | code 500 | 5     |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 7 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the gate has counted 0 gaps

  @ODATA-014 @virtual @process
  Scenario: An answer breaks off
    Given these settings:
      | setting   | value |
      | page size | 2     |
    And these faults:
      | fault | at                    | with     |
      | cut   | connection 2, byte 99 |          |
      | cut   | sequence 7            | keep 150 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the fault cut has struck 2 times
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's

  @ODATA-015 @virtual @process
  Scenario: The service does not say how to go on
    The rows are right, and stay as they are for ever. That has to be said.

    Given these faults:
      | fault    | times  |
      | no-links | always |
    When the client follows the feed
    And the session is over
    Then the fault no-links has struck 1 times
    And the session ended as protocol-error
    And the consumer has seen exactly: snapshot 5
    And the consumer's records equal the feed's
    And the server has seen exactly 1 request

  @ODATA-016 @virtual @process
  Scenario: The application is started again
    It gets what it missed and nothing else.

    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And these faults:
      | fault  | at             | with     |
      | status | request resume | code 403 |
    And the session is over
    And 2 changes are published
    And the client is started again
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's
    And the store holds 9

  @ODATA-017 @virtual @process
  Scenario: A link cannot be built again from what is in it
    It may hold more than a position, even a secret. It is followed as long as the application runs, and never written down.

    Given these settings:
      | setting                 | value |
      | option deltaTokenOption | sync  |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And these faults:
      | fault  | at             | with     |
      | status | request resume | code 403 |
    And the session is over
    And 1 change is published
    And the client is started again
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 8
    And the consumer's records equal the feed's

  @ODATA-018 @virtual
  Scenario: Between two polls nobody knows
    What is shown is as old as the last answer, and is not called anything else.

    Given these settings:
      | setting               | value  |
      | option pollIntervalMs | 120000 |
    When the client follows the feed
    And everything published has arrived
    Then the stream is observed as fresh
    When 95,000 ms pass
    Then the stream is observed as unconfirmed
    And the server has seen exactly 1 request
    When 30,000 ms pass
    Then the stream is observed as fresh
    And the server has seen exactly 2 requests

  @ODATA-019 @virtual @process
  Scenario: The service was restored from a backup, and says nothing
    The answer looks as if nothing had changed.

    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    And these faults:
      | fault              | at             | times  |
      | lost-after-restart | request resume | always |
    And the server is restored from a backup at 6
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault lost-after-restart has struck
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, snapshot 6, upsert 7
    And the consumer's records equal the feed's
    And the store holds 7

  @ODATA-019 @virtual @process
  Scenario: The service forgot what was missed, and says nothing
    Given a stored position at 5
    And these faults:
      | fault              | at           |
      | lost-after-restart | connection 1 |
    When 3 changes are published
    And the server forgets all but the last 1 change
    And the client follows the feed
    And everything published has arrived
    Then the fault lost-after-restart has struck
    And the gate has counted 1 gaps
    And the consumer has seen exactly: snapshot 8
    And the consumer's records equal the feed's

  @ODATA-020 @virtual @process
  Scenario: A change is missing in the middle
    Given these faults:
      | fault | at         |
      | gap   | sequence 7 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 2 changes are published
    And the gate has refused something with sequence-gap
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5, upsert 6, snapshot 8, upsert 9
    And the gate has counted 1 gaps
    And the consumer's records equal the feed's

  @ODATA-021 @virtual
  Scenario: The consumer stands still
    What nobody can take is not asked for.

    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 200 changes are published
    And the gate has been offered 65 events
    And 600,000 ms pass
    Then the server has seen at most 67 requests
    And the gate has counted 0 overflows
    And the stream is observed as paused-by-consumer
    When the consumer goes on
    And everything published has arrived
    Then the gate has counted 201 accepted
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's

  @ODATA-022 @virtual @process
  Scenario: Nobody promised an order
    To number the answers in secret would make every loss look like the next number.

    Given these faults:
      | fault       | times  |
      | no-sequence | always |
    When the client follows the feed
    And the gate has refused something with sequence-missing
    And the session is over
    Then the consumer has seen exactly: nothing
    And the store holds nothing

  @ODATA-022 @virtual @process
  Scenario: The application says that the order of the answers counts
    Given a feed of 1 records
    And these settings:
      | setting      | value         |
      | annotations  | none          |
      | option order | request-chain |
      | option rows  | patch         |
      | changes      | delta         |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 1, delta 2, delta 3
    And the consumer's records equal the feed's
    And the session is still running

  @GATE-023 @virtual @process
  Scenario: Nothing changes for a long time, and the application is started again
    The service names the same place anew with every answer, and forgets how it called it before. Who keeps the oldest name has
    none that works.

    Given these settings:
      | setting               | value |
      | option pollIntervalMs | 50    |
    And these faults:
      | fault       | at             | with         | times  |
      | fresh-token | request resume | retires true | always |
    When the client follows the feed
    And the server has been asked 5 times
    And these faults:
      | fault  | at             | with     |
      | status | request resume | code 403 |
    And the session is over
    Then the store holds 5
    When the client is started again
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault fresh-token has struck
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the gate has counted 0 gaps
    And the gate has counted 1 accepted
    And the store holds 6

  @ODATA-023 @virtual @process
  Scenario: A row is gone in a list of all rows
    One of the two is wrong, and the list is the base of everything behind it.

    Given these faults:
      | fault               | at           |
      | removed-in-snapshot | connection 1 |
    When the client follows the feed
    And the session is over
    Then the fault removed-in-snapshot has struck
    And the session ended as protocol-error
    And the consumer has seen exactly: nothing
    And the store holds nothing

  @ODATA-024 @virtual @process
  Scenario: The stream becomes another one while its state is being read
    The numbers of the first page say nothing about the rows of the last.

    Given these settings:
      | setting   | value |
      | page size | 2     |
    And these faults:
      | fault          | at           | with               |
      | pages-disagree | connection 1 | member streamEpoch |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault pages-disagree has struck
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the consumer's records equal the feed's
