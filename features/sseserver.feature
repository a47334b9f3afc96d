@sse @server @process
Feature: A stream of events can be come back to, and says when it cannot
  Clients of a stream come back with the last id that they heard. A server that goes on behind it loses nothing; one that has forgotten it
  must say so. One that goes on from somewhere else, silently, makes its clients lose what lies between.

  @SSE-101
  Scenario: The stream is one
    When a client opens the feed
    Then answer 1 has status 200
    And answer 1 has the media type text/event-stream

  @SSE-102
  Scenario: What is published reaches who listens
    When a client opens the feed
    And 5 changes are published
    And stream 1 has heard the last change
    Then stream 1 carried changes 1 to 5, each once and in order

  @SSE-102
  Scenario: Two who listen hear the same
    When a client opens the feed
    And a client opens the feed
    And 3 changes are published
    And stream 1 has heard the last change
    And stream 2 has heard the last change
    Then stream 1 carried changes 1 to 3, each once and in order
    And stream 2 carried changes 1 to 3, each once and in order

  @SSE-103
  Scenario: Each change can be come back to
    When a client opens the feed
    And 4 changes are published
    And stream 1 has heard the last change
    Then each change had an id of its own

  @SSE-104
  Scenario: What was published while nobody listened
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And stream 1 is left
    And 3 changes are published
    And a client comes back with the last id of stream 1
    And 1 change is published
    And stream 2 has heard the last change
    Then stream 2 carried changes 3 to the last, each once and in order

  @SSE-104
  Scenario: Back with an older id
    Who stored an id and lost what came after it asks for that once more.

    When a client opens the feed
    And 4 changes are published
    And stream 1 has heard the last change
    And stream 1 is left
    And a client comes back with the id of change 1
    And 1 change is published
    And stream 2 has heard the last change
    Then stream 2 carried changes 2 to the last, each once and in order

  @SSE-105
  Scenario: Back with an id that the server has forgotten
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And stream 1 is left
    And change 1 is forgotten
    And a client comes back with the id of change 1
    And 1 change is published
    And stream 2 has heard the last change
    Then answer 2 says that something is lost, or nothing is

  @SSE-106
  Scenario: Back with an id that nobody sent
    When a client opens the feed
    And 2 changes are published
    And stream 1 has heard the last change
    And a client comes back with an id that nobody sent
    And 1 change is published
    And stream 2 has heard the last change
    Then answer 2 says that something is lost, or nothing is
