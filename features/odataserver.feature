@odata @server @process
Feature: A service that is polled says what changed, or that it does not know
  Clients hold a delta link and ask for what changed since. A service that has lost its place and answers "nothing" makes them miss what
  changed, for good.

  @ODATA-101
  Scenario: A load ends with a place to go on from
    When a client loads the collection
    And 3 changes are published
    And a client loads the collection
    Then answer 2 has status 200
    And round 1 ended with a delta link
    And round 2 ended with a delta link
    And round 2 brought changes 1 to 3, in any order

  @ODATA-102
  Scenario: What changed, once
    When a client loads the collection
    And 3 changes are published
    And a client asks what changed since round 1
    Then round 2 brought changes 1 to 3, in any order
    And round 2 ended with a delta link
    When a client asks what changed since round 2
    Then round 3 brought no change, in any order
    When 2 changes are published
    And a client asks what changed since round 3
    Then round 4 brought changes 4 to 5, in any order

  @ODATA-102
  Scenario: An older delta link is as good as a newer one
    When a client loads the collection
    And 1 change is published
    And a client asks what changed since round 1
    And 1 change is published
    And a client asks what changed since round 1
    Then round 3 brought changes 1 to 2, in any order

  @ODATA-103
  Scenario: A restart loses no place silently
    When a client loads the collection
    And 1 change is published
    And a client asks what changed since round 1
    And 1 change is published
    And the server is restarted
    And a client asks what changed since round 2
    Then answer 3 says that something is lost, or nothing is

  @ODATA-104
  Scenario: A token that nobody gave out is answered honestly
    When a client loads the collection
    And 1 change is published
    And a client asks with a delta token that nobody gave out
    Then answer 2 says that something is lost, or nothing is
