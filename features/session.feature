@sse @websocket
Feature: A broken connection is mended without loss, and without hammering the server
  Connections break all day: laptops sleep, proxies restart, servers are deployed. A client that comes back must neither
  lose what happened meanwhile, nor ask again and again as fast as it can.

  Background:
    Given a feed of 5 records

  @SESS-001 @virtual
  Scenario: The server stays away for a while
    Given these settings:
      | setting | value |
      | jitter  | 0     |
    When the client follows the feed
    And everything published has arrived
    And the server cannot be reached
    And the connection breaks
    And the client has waited 9 times
    Then wait 1 was 250 ms
    And wait 2 was 500 ms
    And wait 3 was 1,000 ms
    And wait 4 was 2,000 ms
    And wait 5 was 4,000 ms
    And wait 6 was 8,000 ms
    And wait 7 was 16,000 ms
    And wait 8 was 30,000 ms
    And wait 9 was 30,000 ms
    When the server can be reached again
    And everything published has arrived
    Then the consumer has seen exactly: snapshot 5
    And the session is still running

  @SESS-001 @virtual
  Scenario: A thousand clients do not come back at the same moment
    Each waits up to half as long again.

    Given these settings:
      | setting | value |
      | jitter  | 500   |
    When the client follows the feed
    And everything published has arrived
    And the server cannot be reached
    And the connection breaks
    And the client has waited 8 times
    Then wait 1 was 375 ms
    And wait 2 was 750 ms
    And wait 8 was 45,000 ms

  @SESS-001 @virtual
  Scenario: An application that wants to give up some day
    Given these settings:
      | setting  | value |
      | attempts | 3     |
    When the client follows the feed
    And everything published has arrived
    And the server cannot be reached
    And the connection breaks
    And the session is over
    Then the session ended as attempts-used-up with delivery-failed
    And wait 3 was from 1,000 to 1,500 ms
    And the server has seen 1 request

  @SESS-002 @virtual @only-sse
  Scenario: A proxy accepts every connection and drops it at once
    Opening alone proves nothing. A client that starts over with the shortest wait each time is part of the outage.

    Given these settings:
      | setting         | value |
      | jitter          | 0     |
      | heartbeat       | none  |
    When the client follows the feed
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then wait 1 was 250 ms
    And wait 2 was 500 ms
    And wait 3 was 1,000 ms
    When 20,000 ms pass
    And the connection breaks
    And everything published has arrived
    Then wait 4 was 2,000 ms
    When 15,000 ms pass
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    Then wait 5 was 250 ms
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SESS-003 @virtual
  Scenario Outline: The server asks for time with <status>
    Given these faults:
      | fault  | at           | with          | and          |
      | status | connection 1 | code <status> | retryAfter 1 |
    When the client follows the feed
    And everything published has arrived
    Then request 1 was answered with <status>
    And request 2 came at least 1,000 ms after request 1
    And wait 1 was from 1,000 to 1,500 ms
    And the consumer has seen exactly: snapshot 5

    @process
    Examples:
      | status |
      | 429    |

    Examples:
      | status |
      | 503    |

  @SESS-003 @virtual
  Scenario: The server asks for more time than anybody waits
    A typing error in one header must not put a thousand clients to sleep for a day.

    Given these settings:
      | setting | value |
      | jitter  | 0     |
    And these faults:
      | fault  | at           | with     | and              |
      | status | connection 1 | code 503 | retryAfter 86400 |
    When the client follows the feed
    And everything published has arrived
    Then wait 1 was 600,000 ms
    And the consumer has seen exactly: snapshot 5

  @SESS-004 @virtual @only-sse
  Scenario: The connection is half dead
    Nothing comes, and nothing says so. Somebody who looks at the map has to know that it may be old.

    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    When the client follows the feed
    And everything published has arrived
    And 90,000 ms pass since the last sign of life
    Then the stream is observed as fresh
    When 90,001 ms pass since the last sign of life
    Then the stream is observed as unconfirmed
    And the gate is live
    And the server has seen 1 request
    When 119,999 ms pass since the last sign of life
    Then the server has seen 1 request
    When the client has waited 1 time
    And everything published has arrived
    Then request 2 asked to go on from 5
    And request 2 came at least 120,000 ms after request 1
    And the stream is observed as fresh
    And the consumer has seen exactly: snapshot 5

  @SESS-005 @virtual @process
  Scenario: A short break
    When the client follows the feed
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then request 2 asked to go on from 5
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's

  @SESS-005 @virtual @process
  Scenario: Changes are made, merged and taken back while the connection is broken
    Given these settings:
      | setting | value |
      | changes | mixed |
    And these faults:
      | fault | at         | with   | and      |
      | cut   | sequence 7 | keep 0 | as reset |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And 4 changes are published
    And everything published has arrived
    Then request 2 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, delta 6, upsert 7, delete 8, delta 9, upsert 10
    And the gate has counted 0 gaps
    And the gate has counted 0 duplicates
    And the consumer's records equal the feed's

  @SESS-005 @virtual @process
  Scenario: A server vouches for a resume and still leaves something out
    A promise is no proof: the numbers are looked at all the same.

    Given these faults:
      | fault        | at           | with   |
      | cut          | sequence 6   | keep 0 |
      | lying-resume | connection 2 | skip 1 |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault lying-resume has struck
    And upsert 7 ended as resnapshot-required with sequence-gap
    And the consumer has seen exactly: snapshot 5, snapshot 8
    And the consumer's records equal the feed's

  @SESS-005 @SSE-003 @virtual @process
  Scenario: The application was closed and is opened again
    Given a stored position at 5
    When 2 changes are published
    And the client follows the feed
    And everything published has arrived
    Then request 1 asked to go on from 5
    And the consumer has seen exactly: upsert 6, upsert 7
    And the gate has counted 2 accepted
    And the consumer's records equal the feed's
    And the store holds 7
    When the connection breaks
    And everything published has arrived
    Then request 2 asked to go on from 7

  @SESS-006 @virtual @process
  Scenario: The server cannot go on from there and says so
    The next number fits, but nobody vouches for what lies between.

    Given these faults:
      | fault         | at           | with        |
      | cut           | sequence 6   | keep 0      |
      | resumed-false | connection 2 | then deltas |
    When the client follows the feed
    And everything published has arrived
    And 3 changes are published
    And everything published has arrived
    Then the fault resumed-false has struck
    And request 2 asked to go on from 5
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, snapshot 8
    And the consumer's records equal the feed's

  @SESS-006 @virtual @process
  Scenario: The server overlooks the position that it was asked to go on from
    It goes on with whatever comes next. What was between is lost without a word.

    Given these faults:
      | fault                | at           | with      |
      | cut                  | sequence 6   | keep 0    |
      | ignore-last-event-id | connection 2 | then live |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And the server has been asked 2 times
    And 1 change is published
    And everything published has arrived
    Then the fault ignore-last-event-id has struck
    And the consumer has seen exactly: snapshot 5, snapshot 8
    And the consumer's records equal the feed's

  @SESS-007 @virtual @process
  Scenario: Another stream under the same name
    The numbers go on as if nothing had happened, but they count something else now.

    When the client follows the feed
    And everything published has arrived
    And the server starts another stream at 5
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 2 asked to go on from 5
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, snapshot 5, upsert 6
    And the consumer's records equal the feed's

  @SESS-007 @virtual @process
  Scenario: Another stream whose server looks at the number only
    It even says that it goes on from there.

    Given these faults:
      | fault        | at           |
      | blind-resume | connection 2 |
    When the client follows the feed
    And everything published has arrived
    And the server starts another stream at 5
    And the server has been asked 3 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault blind-resume has struck
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, snapshot 5, upsert 6
    And the consumer's records equal the feed's

  @SESS-008 @virtual @process
  Scenario: The server asks not to be called again
    Given these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And the connection breaks
    And the session is over
    Then the session ended as server-stop
    And the gate is closed with closed
    And request 2 was answered with 204
    And the server has seen 2 requests

  @SESS-009 @virtual @process
  Scenario: The credential ran out in the middle of the day
    A new one is fetched, and the stream goes on where it was.

    Given these settings:
      | setting     | value   |
      | credentials | checked |
    And these faults:
      | fault  | at           |
      | revoke | connection 2 |
    When the client follows the feed
    And everything published has arrived
    And the connection breaks
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault revoke has struck
    And request 2 was answered with 401
    And request 3 asked to go on from 5
    And request 3 was accepted
    And the consumer has seen exactly: snapshot 5, upsert 6

  @SESS-009 @virtual @process
  Scenario: The credential is refused for good
    Trying the same one again and again locks the account.

    Given these faults:
      | fault  | at | with     | times  |
      | status |    | code 401 | always |
    When the client follows the feed
    And the session is over
    Then the session ended as refused
    And the server has seen 2 requests
    And the consumer has seen exactly: nothing

  @SESS-010 @virtual @process
  Scenario: The server has not got as far as the client
    It was restored and says so. Everything that it sends now looks old, and waiting for newer things may take for ever.

    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And these faults:
      | fault       | at           | with |
      | head-behind | connection 2 | by 2 |
    And the connection breaks
    And the server has been asked 3 times
    And everything published has arrived
    Then the fault head-behind has struck
    And request 2 asked to go on from 7
    And request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 7
    And the consumer's records equal the feed's

  @SESS-011
  Scenario Outline: The server takes the call and never answers (<limit> ms)
    Without a limit the client waits as long as the server is silent, and that may be days.

    Given these settings:
      | setting       | value   |
      | connect limit | <limit> |
    And these faults:
      | fault      | at           |
      | unanswered | connection 1 |
    When the client follows the feed
    And the server has been asked 2 times
    And everything published has arrived
    Then the fault unanswered has struck
    And request 2 came at least <least> ms after the client's attempt 1
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5

    @virtual
    Examples:
      | limit | least  |
      | 15000 | 15,000 |

    @process
    Examples:
      | limit | least |
      | 500   | 500   |

  @SESS-012 @virtual @only-sse
  Scenario: A line that never ends
    Now and then there is a byte. It looks like life, and nothing can ever come of it.

    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    And these faults:
      | fault | at           | with    | and           |
      | drip  | connection 1 | bytes 1 | everyMs 50000 |
    When the client follows the feed
    And the server has been asked 2 times
    And everything published has arrived
    Then the fault drip has struck
    And request 2 came at least 120,000 ms after request 1
    And the consumer has seen exactly: snapshot 5

  @SESS-012 @virtual @only-sse
  Scenario: A very slow line
    Slow is not dead.

    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    And these faults:
      | fault | at           | with      | and           |
      | drip  | connection 1 | bytes 300 | everyMs 20000 |
    When the client follows the feed
    And everything published has arrived
    Then the fault drip has struck
    And the server has seen 1 request
    And the consumer has seen exactly: snapshot 5

  @SESS-013 @virtual
  Scenario: The consumer is busy for ten minutes
    Nobody reads, so nobody hears anything. That says nothing about the server, and is no reason to call again.

    When the client follows the feed
    And everything published has arrived
    And the consumer stands still at 6
    And 200 changes are published
    And the gate has been offered 65 events
    And 600,000 ms pass
    Then the stream is observed as paused-by-consumer
    And the server has seen 1 request
    And the gate is live
    When the consumer goes on
    And everything published has arrived
    Then the stream is observed as fresh
    And the server has seen 1 request
    And the consumer's records equal the feed's

  @SESS-014 @virtual
  Scenario Outline: All clients are asked to wait five seconds (jitter <jitter>)
    If they all come back after five seconds sharp, the server is where it was.

    Given these settings:
      | setting | value    |
      | jitter  | <jitter> |
    And these faults:
      | fault  | at           | with     | and          |
      | status | connection 1 | code 429 | retryAfter 5 |
    When the client follows the feed
    And everything published has arrived
    Then wait 1 was <wait> ms
    And the consumer has seen exactly: snapshot 5

    Examples:
      | jitter | wait  |
      | 0      | 5,000 |
      | 100    | 5,500 |
      | 500    | 7,500 |

  @SESS-015 @virtual
  Scenario Outline: The server says no with <status>
    It will say no the next time as well.

    Given these faults:
      | fault  | at           | with          |
      | status | connection 1 | code <status> |
    When the client follows the feed
    And the session is over
    Then request 1 was answered with <status>
    And the session ended as refused
    And the gate is closed with closed
    And the server has seen 1 request
    And the consumer has seen exactly: nothing

    @process
    Examples:
      | status |
      | 403    |

    Examples:
      | status |
      | 400    |
      | 404    |

  @SESS-016 @virtual
  Scenario Outline: A server or a proxy on the way is ill: <fault>, <with>
    It is over soon, mostly. Nobody should have to load everything again because of it.

    Given these faults:
      | fault   | at           | with   |
      | <fault> | connection 2 | <with> |
      | <fault> | connection 3 | <with> |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And the server has been asked 4 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then the fault <fault> has struck 2 times
    And request 3 asked to go on from 6
    And request 4 asked to go on from 6
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the gate has counted 0 gaps
    And the consumer's records equal the feed's

    @process
    Examples:
      | fault      | with       |
      | status     | code 500   |
      | unanswered | then reset |

    Examples:
      | fault      | with     |
      | status     | code 504 |
      | unanswered | then cut |

  @SESS-017 @virtual @process
  Scenario: Enough is enough
    Given these settings:
      | setting  | value |
      | attempts | 3     |
    And these faults:
      | fault  | with     | times  |
      | status | code 500 | always |
    When the client follows the feed
    And the session is over
    Then the session ended as attempts-used-up with delivery-failed
    And the server has seen 4 requests
    And the gate is closed with closed

  @SESS-018 @virtual @process
  Scenario: The application comes back from a long holiday
    Its position belongs to a stream that is gone. The new one has the same name, and even the same numbers.

    Given a stored position at 5 of an older stream
    When the client follows the feed
    And the server has been asked 2 times
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    Then request 1 asked to go on from 5
    And request 2 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the consumer's records equal the feed's
    And the store holds 6

  @SESS-019 @virtual @process
  Scenario: The server cannot go on from anywhere
    It says so in an error frame instead of an answer.

    Given these faults:
      | fault              | at           |
      | resume-unsupported | connection 2 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And the server has been asked 3 times
    And everything published has arrived
    Then the fault resume-unsupported has struck
    And request 2 asked to go on from 6
    And request 3 asked for a snapshot
    And the position of 6 was sent 1 time
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6
    And the consumer's records equal the feed's

  @SESS-020 @virtual @process
  Scenario: The new credential allows to see something else
    What was seen under the old one must not be mixed with what the new one shows.

    Given these settings:
      | setting            | value   |
      | credentials        | checked |
      | renewed credential | others  |
    And these faults:
      | fault  | at           |
      | revoke | connection 2 |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the connection breaks
    And the server has been asked 3 times
    And everything published has arrived
    Then request 2 asked to go on from 6
    And request 2 was answered with 401
    And request 3 asked for a snapshot
    And request 3 was accepted
    And the position of 6 was sent 1 time
    And the consumer has seen exactly: snapshot 5, upsert 6, snapshot 6
    And the consumer's records equal the feed's

  @SESS-021 @virtual @only-sse
  Scenario: A proxy holds everything back and lets it go at once
    While nothing comes, nothing is known. What comes then counts in full.

    Given these settings:
      | setting   | value |
      | heartbeat | none  |
    And these faults:
      | fault   | at         | with         |
      | silence | sequence 6 | forMs 100000 |
    When the client follows the feed
    And everything published has arrived
    And 4 changes are published
    And 95,000 ms pass
    Then the fault silence has struck
    And the stream is observed as unconfirmed
    And the consumer has seen exactly: snapshot 5, upsert 6
    When everything published has arrived
    Then the stream is observed as fresh
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8, upsert 9
    And the gate has counted 0 gaps
    And the gate has counted 0 overflows
    And the server has seen 1 request
