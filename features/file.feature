@sse @process
Feature: A position on disk outlives what wrote it
  The file is what is left when everything else is gone. It must hold what was promised, nothing else, and nothing that opens a door.

  Background:
    Given a feed of 5 records
    And these settings:
      | setting | value |
      | store   | file  |

  @STORE-007
  Scenario: The process that holds the store is killed between two lives of the application
    Given these faults:
      | fault  | at           | with     |
      | status | connection 2 | code 204 |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the process that holds the store is killed
    And the connection breaks
    And the session is over
    And 1 change is published
    And the client is started again
    And everything published has arrived
    Then request 3 asked to go on from 7
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, upsert 8
    And the consumer's records equal the feed's
    And the store holds 8
    And the held position is persisted

  @STORE-008
  Scenario: Somebody reads the file
    It may be copied, backed up, attached to a bug report.

    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    And the process that holds the store is killed
    Then the store's "members on disk" is "authorizationScopeDigest format key observedAt queryFingerprint resume resume.cursor resume.sequence resume.timestamp savedAt schemaVersion sourceId sourceVersion"
    And the store's "secret on disk" is "absent"
    And the store's "sources on disk" is "incidents"

  @STORE-009
  Scenario Outline: The file holds a position of <whose>
    Given a stored position at 5 of <whose>
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the process that holds the store is killed
    Then request 1 asked for a snapshot
    And the position of 5 was sent 0 times
    And the consumer has seen exactly: snapshot 5, upsert 6
    And the store's "sources on disk" is "<sources>"

    Examples:
      | whose          | sources                   |
      | another viewer | incidents, incidents      |
      | another query  | incidents, incidents      |
      | another source | another-source, incidents |

  @STORE-010
  Scenario: More sources are followed than the file may keep positions of
    Who is followed most is not thrown out for who was followed once.

    Given these settings:
      | setting      | value |
      | store limit  | 2     |
      | other scopes | 2     |
    When the client follows the feed
    And everything published has arrived
    And 1 change is published
    And everything published has arrived
    And the process that holds the store is killed
    Then the store's "sources on disk" is "other-2, incidents"
    And the held position is persisted

  @STORE-011
  Scenario Outline: The file holds <what>
    Half a record that is believed skips what it does not say.

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
    And the store holds 6

    Examples:
      | what             | reason             |
      | another format   | invalid-checkpoint |
      | a damaged record | invalid-checkpoint |

  @STORE-012
  Scenario Outline: The server's position is <what>
    What looks like a key is not written down. The older position goes too: it would bring back what was applied already.

    Given these faults:
      | fault          | at           | with        |
      | named-position | sequence 7   | text <text> |
      | status         | connection 2 | code 204    |
    When the client follows the feed
    And everything published has arrived
    And 2 changes are published
    And everything published has arrived
    Then the gate is live
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7
    And the session is still running
    When the process that holds the store is killed
    Then the store's "sources on disk" is ""
    When the connection breaks
    And the session is over
    And the client is started again
    And everything published has arrived
    Then request 3 asked for a snapshot
    And the consumer has seen exactly: snapshot 5, upsert 6, upsert 7, snapshot 7

    Examples:
      | what           | text                                    |
      | an address     | https://feed.example/changes?token=s3cr |
      | a credential   | Bearer s3cr3t-of-somebody               |
      | a named secret | api_key=s3cr3t                          |
