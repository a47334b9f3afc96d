@websocket @server @process
Feature: A socket can be come back to, and its server says when it cannot
  A socket has no id of its own and no header to come back with: where a position stands, and how it is given back, is the server's word. What
  it owes who comes back is the same.

  @WS-101
  Scenario: What is published reaches who holds a socket
    When a client opens the feed
    And 5 changes are published
    And stream 1 has heard the last change
    Then answer 1 has status 101
    And stream 1 carried changes 1 to 5, each once and in order

  @WS-102
  Scenario: Each change on a socket can be come back to
    When a client opens the feed
    And 4 changes are published
    And stream 1 has heard the last change
    Then each change had an id of its own

  @WS-103
  Scenario: What was published while nobody held a socket
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And stream 1 is left
    And 3 changes are published
    And a client comes back with the last id of stream 1
    And 1 change is published
    And stream 2 has heard the last change
    Then stream 2 carried changes 3 to the last, each once and in order

  @WS-104
  Scenario: A socket behind a position that the server has forgotten
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And stream 1 is left
    And change 1 is forgotten
    And a client comes back with the id of change 1
    And 1 change is published
    And stream 2 has heard the last change
    Then answer 2 says that something is lost, or nothing is

  @WS-105
  Scenario: A socket behind a position that nobody sent
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And a client comes back with an id that nobody sent
    And 1 change is published
    And stream 2 has heard the last change
    Then answer 2 says that something is lost, or nothing is
