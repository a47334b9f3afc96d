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
