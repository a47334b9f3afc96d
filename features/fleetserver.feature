@fleetwake @server @process
Feature: A fleet-wake server says who is heard, and tells each only its own
  Whoever connects to a wake lane trusts what its server says: who was let in, for whom it is armed, and that no wake goes astray. Every
  request here is a plain one, and what counts is what came back.

  @FLEET-101
  Scenario: A stream begins with the hint and one state
    When the viewer opens a stream
    Then answer 1 has status 200
    And answer 1 has the header Content-Type with "text/event-stream"
    And stream 1 began with retry 5000, state
    And stream 1 heard exactly 1 state

  @FLEET-102
  Scenario: Who brings no credential, or not a bearer's, is not heard
    When somebody asks for the stream with:
      | as     | authorization |
      | nobody |               |
      |        | Basic dTpw    |
      |        | Bearer        |
    Then answer 1 has status 401 and this body:
      """
      {"error":"invalid_token","error_description":"Missing Authorization header"}
      """
    And answer 1 has the header WWW-Authenticate with "Bearer error="invalid_token", error_description="Missing Authorization header""
    And answer 2 has status 401 and this body:
      """
      {"error":"invalid_token","error_description":"Invalid Authorization header format, expected 'Bearer TOKEN'"}
      """
    And answer 3 has status 401 and this body:
      """
      {"error":"invalid_token","error_description":"Invalid Authorization header format, expected 'Bearer TOKEN'"}
      """

  @FLEET-102
  Scenario: A token that is nobody's opens nothing
    When somebody asks for the stream with:
      | as              |
      | an unknown face |
    Then answer 1 has status 401
    And answer 1 says:
      | member            | value           |
      | error             | "invalid_token" |
      | error_description | a text          |

  @FLEET-103
  Scenario: The secret of the plane is no key to the fleet's door
    When somebody asks for the stream with:
      | as         | class |
      | the viewer | 3     |
    Then answer 1 has status 401
    And answer 1 says:
      | member | value           |
      | error  | "invalid_token" |

  @FLEET-104
  Scenario: Possession without an identity is refused
    When somebody asks for the stream with:
      | as            |
      | a mere holder |
    Then answer 1 has status 401 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: authenticated provider identity required"}
      """

  @FLEET-105
  Scenario: An identity without a stable subject is refused
    When somebody asks for the stream with:
      | as         |
      | a stranger |
    Then answer 1 has status 403 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: viewer identity carries no stable subject"}
      """

  @FLEET-106
  Scenario: A name that somebody else's DNS points here is not served
    When somebody asks for the stream with:
      | as         | host         |
      | the viewer | evil.example |
    Then answer 1 has status 403 and this body:
      """
      {"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: evil.example"},"id":null}
      """

  @FLEET-106
  Scenario: A page of another origin is not served
    When somebody asks for the stream with:
      | as         | origin               |
      | the viewer | https://evil.example |
    Then answer 1 has status 403 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: origin not admitted"}
      """
    And answer 1 has no header Access-Control-Allow-Origin

  @FLEET-107
  Scenario: The stream has one address
    When somebody asks for the stream with:
      | as         | method | path                    |
      | the viewer | POST   |                         |
      | the viewer | GET    | with a slash behind it  |
      | the viewer | GET    | in upper case           |
      | the viewer | GET    | with a query            |
    Then answer 1 has status 404 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: route not found"}
      """
    And answer 2 has status 404
    And answer 3 has status 200
    And stream 4 heard exactly 1 state

  @FLEET-108
  Scenario: One attempt too many in a window
    Clients that come back as fast as they can keep each other out. The count is the viewer's own, and a refusal does not make it longer.

    When the viewer asks as often as one window allows
    And the viewer asks once more
    Then the last answer has status 429 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: too many stream attempts"}
      """
    And the last answer has no header RateLimit-Limit
    When another viewer asks once more
    Then the last answer has status 200
    When the viewer asks once more
    Then the last answer has status 429
    When the window of the viewer is over
    And the viewer asks until there is room
    Then the last answer has status 200

  @FLEET-108
  Scenario: A request without a credential does not use up the window of anybody
    When somebody asks for the stream with:
      | as              |
      | nobody          |
      | an unknown face |
    And the viewer asks as often as one window allows
    Then the last answer has status 200

  @FLEET-109
  Scenario: One viewer may have so many streams, and no more
    The newcomer is refused. No stream that is open is touched for it.

    When the viewer opens as many streams as one may
    And the viewer asks once more
    Then the last answer has status 429 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: stream cap reached (per viewer)"}
      """
    And stream 1 is still open
    When stream 1 is left
    And the viewer asks until there is room
    Then the last answer has status 200
    And stream 2 is still open

  @FLEET-110
  Scenario: All viewers together may have so many streams, and no more
    When visitors open as many streams as there may be
    And the viewer asks once more
    Then the last answer has status 429 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: stream cap reached (total)"}
      """
    And stream 1 is still open
    When stream 1 is left
    And the viewer asks until there is room
    Then the last answer has status 200

  @FLEET-111
  Scenario: The state speaks of the viewer that reads it
    When the viewer opens a stream
    And another viewer opens a stream
    Then the last state of stream 1 says:
      | member              | value            |
      | armed               | true             |
      | reason              | "armed"          |
      | connectedIdentities | 0                |
      | armedForViewer      | true             |
      | subscriptionId      | "{subscription of the viewer}" |
    And the last state of stream 2 says:
      | member              | value  |
      | connectedIdentities | 1      |
      | armedForViewer      | false  |
      | subscriptionId      | absent |

  @FLEET-112
  Scenario: A viewer that nobody armed learns no id
    When the server disarms the viewer
    And the viewer opens a stream
    Then the last state of stream 1 says:
      | member         | value  |
      | armedForViewer | false  |
      | subscriptionId | absent |
    When the server arms the viewer
    And the viewer opens a stream
    Then stream 1 heard exactly 1 state
    And the last state of stream 2 says:
      | member         | value            |
      | armedForViewer | true             |
      | subscriptionId | "{subscription of the viewer}" |

  @FLEET-113
  Scenario: A wake goes to every stream of its viewer and to nobody else
    When the viewer opens 2 streams
    And another viewer opens a stream with its plane credential beside
    And a wake for the viewer is posted
    Then answer 4 has status 200 and this body:
      """
      {"ok":true,"state":"accepted"}
      """
    When stream 1 has heard 1 wake
    And stream 2 has heard 1 wake
    And a wake for another viewer is posted
    And stream 3 has heard 1 wake
    Then stream 1 heard exactly 1 wake
    And stream 2 heard exactly 1 wake
    And stream 3 heard exactly 1 wake
    And the last wake of stream 1 says:
      | member                   | value                      |
      | subscriptionId           | "{subscription of the viewer}"           |
      | envelope.schemaVersion   | "1.0"                      |
      | envelope.eventType       | "wake/digest"              |
      | envelope.eventId         | "EVT:conform-1"            |
      | envelope.logId           | 1                          |
      | envelope.agentIdentity   | "{login of the viewer}"                  |
      | envelope.subscriptionId  | "{subscription of the viewer}"           |
      | envelope.payload         | {"totalEvents":1}          |
      | envelope.emittedAt       | "2026-08-14T08:00:00.000Z" |
    And the last wake of stream 3 says:
      | member         | value            |
      | subscriptionId | "{subscription of another viewer}" |
    And the last state of stream 3 says:
      | member         | value            |
      | armedForViewer | true             |
      | subscriptionId | "{subscription of another viewer}" |

  @FLEET-114
  Scenario: Who has left is counted no more
    When the viewer opens 2 streams
    And stream 1 is left
    And stream 2 is left
    And another viewer asks until nobody else is connected
    Then the last state of the last stream says:
      | member              | value |
      | connectedIdentities | 0     |
    When a wake for the viewer is posted
    Then the last answer has status 200

  @FLEET-115
  Scenario: A stream that nobody reads is ended, and the others go on
    A server that waits for its slowest client waits for ever, and one that keeps everything for it runs out of memory.

    When the viewer opens 2 streams
    And stream 1 is read no more
    And 60 wakes for the viewer are posted, each when stream 2 has heard the one before, with:
      | part | value        |
      | body | 200000 bytes |
    And stream 2 has heard 60 wakes
    And stream 1 is read again
    And stream 1 is over
    Then stream 1 is over by now
    And stream 1 heard fewer than 60 wakes
    And stream 2 is still open

  @FLEET-116
  Scenario: The time of the last push is kept where nobody is connected
    When a wake for the viewer is posted
    And the viewer opens a stream
    Then answer 1 has status 200
    And the last state of stream 2 says:
      | member     | value    |
      | lastPushAt | a number |

  @FLEET-117
  Scenario: A shutdown ends every stream and takes no newcomer
    When the viewer opens 2 streams
    And another viewer opens a stream
    And the server is shut down
    And stream 1 is over
    And stream 2 is over
    And stream 3 is over
    Then stream 1 is over by now
    And stream 2 is over by now
    And stream 3 is over by now
    When the viewer asks once more
    Then the last answer has status 429 and this body:
      """
      {"ok":false,"state":"refused","protocol":{"capabilities":["method-schema-v1","closed-response-states-v1"],"version":1},"error":"fleet: stream registry disposed"}
      """

  @FLEET-118
  Scenario: A stream without news is heard from
    When the viewer opens a stream
    And stream 1 has heard 2 comments
    Then stream 1 heard at least 2 comments
    And stream 1 heard exactly 1 state

  @FLEET-119
  Scenario: A server that was started again arms anew, with another key
    A captured wake of yesterday must not open today's lane.

    When the viewer opens a stream
    And a wake for the viewer is posted
    And stream 1 has heard 1 wake
    And the server is restarted
    And stream 1 is over
    Then stream 1 is over by now
    When the viewer asks until there is room
    Then the last state of the last stream says:
      | member         | value            |
      | armedForViewer | true             |
      | lastPushAt     | null             |
      | subscriptionId | "{subscription of the viewer}" |
    When a wake for the viewer is posted
    Then the last answer has status 200

  @FLEET-121
  Scenario Outline: A wake for <what> has no route
    When a wake for the viewer is posted with:
      | part                | value    |
      | subscription header | <header> |
    Then answer 1 has status 404 and this body:
      """
      {"error":"unknown-subscription"}
      """

    Examples:
      | what           | header                |
      | an unknown id  | WAKE_SUB:nobody-at-all |
      | no id          | none                  |

  @FLEET-122
  Scenario Outline: A signature <what> is none
    The stream's reader can check nothing: what the intake lets in is believed.

    When the viewer opens a stream
    And a wake for the viewer is posted with:
      | part   | value   |
      | <part> | <value> |
    Then answer 2 has status 401 and this body:
      """
      {"error":"invalid-signature"}
      """
    When a wake for the viewer is posted
    And stream 1 has heard 1 wake
    Then stream 1 heard exactly 1 wake
    And the last wake of stream 1 says:
      | member           | value           |
      | envelope.eventId | "EVT:conform-2" |

    Examples:
      | what                           | part      | value                            |
      | of another key                 | signature | of another key                   |
      | of the decoded key             | signature | of the decoded key               |
      | with a prefix                  | signature | with a prefix                    |
      | that is one digit short        | signature | 63 digits                        |
      | that is not there              | signature | none                             |
      | over other bytes than the body | body      | one space more than was signed   |

  @FLEET-122
  Scenario: A signature in upper case is one
    When a wake for the viewer is posted with:
      | part      | value         |
      | signature | in upper case |
    Then answer 1 has status 200

  @FLEET-123
  Scenario Outline: A signed body that is <what> is no wake
    When a wake for the viewer is posted with:
      | part | value  |
      | body | <what> |
    Then answer 1 has status 400 and this body:
      """
      {"error":"invalid-json"}
      """

    Examples:
      | what     |
      | not JSON |
      | empty    |

  @FLEET-124
  Scenario Outline: A signed wake with another <part> belongs to another route
    Whoever holds one key could else speak for everybody.

    When the viewer opens a stream
    And a wake for the viewer is posted with:
      | part   | value   |
      | <part> | <value> |
    Then answer 2 has status 409 and this body:
      """
      {"error":"signed-route-mismatch"}
      """
    When a wake for the viewer is posted
    And stream 1 has heard 1 wake
    Then stream 1 heard exactly 1 wake
    And the last wake of stream 1 says:
      | member           | value           |
      | envelope.eventId | "EVT:conform-2" |

    Examples:
      | part           | value          |
      | identity       | @other         |
      | subscription   | WAKE_SUB:other |
      | event type     | wake/pulse     |
      | schema version | 2.0            |
      | schema header  | 2.0            |
      | event header   | EVT:another    |
      | event id       | EVT:another    |
      | body           | null           |

  @FLEET-125
  Scenario: A wake that is lost inside is an accepted one, and the poll finds what it was about
    When the viewer opens a stream
    And the viewer polls for itself since 0
    And the server loses the next wake that it accepts
    And 1 message is written for the viewer
    And the viewer polls for itself since what answer 2 said
    Then the last answer says:
      | member  | value |
      | pending | 1     |
    When a wake for the viewer is posted
    And stream 1 has heard 1 wake
    Then stream 1 heard exactly 1 wake

  @FLEET-126
  Scenario: A wake is bounded, and so are those of one subscription
    When a wake for the viewer is posted with:
      | part | value        |
      | body | one byte too long |
    Then answer 1 has status 413 or none
    When a wake for the viewer is posted with:
      | part | value        |
      | body | as long as it may be |
    Then answer 2 has status 200

  @FLEET-126
  Scenario: One wake too many in a window
    When as many wakes for the viewer are posted as one window allows
    Then the last answer has status 200
    When one wake more for the viewer is posted
    Then the last answer has status 429 and this body:
      """
      {"error":"rate-limited"}
      """
    When a wake for another viewer is posted with:
      | part                | value    |
      | subscription header | WAKE_SUB:nobody-at-all |
    Then the last answer has status 404

  @FLEET-131
  Scenario: A poll counts what is above the mark, and only that
    When the viewer polls for itself since 0
    And 2 messages are written for the viewer
    And the viewer polls for itself since what answer 1 said
    Then answer 2 has status 200
    And answer 2 says:
      | member         | value                          |
      | subscriptionId | "{subscription of the viewer}" |
      | pending        | 2                              |
      | eventsReplayed | 2                              |
      | digest         | a text                         |
      | digestPriority | "normal"                       |
      | watermark      | a number                       |
    When the viewer polls for itself since what answer 2 said
    Then answer 3 has status 200
    And answer 3 says:
      | member  | value                                                                      |
      | pending | 0                                                                          |
      | digest  | absent                                                                     |
      | reason  | "no wake-relevant events above the client watermark in current read state" |
    When the viewer polls for itself since what request 2 asked
    Then answer 4 says:
      | member  | value |
      | pending | 2     |
    When the viewer polls for itself since 999999999
    Then answer 5 says:
      | member    | value     |
      | pending   | 0         |
      | watermark | 999999999 |

  @FLEET-132
  Scenario: A poll for what is somebody else's is refused
    When the server arms another viewer
    And the viewer polls with the tool for another viewer since 0
    Then answer 1 has status tool-error and this body:
      """
      Permission denied: subscription {subscription of another viewer} is owned by {login of another viewer}, not {login of the viewer}.
      """
    When the viewer polls with the tool for an unknown subscription since 0
    Then answer 2 has status tool-error and this body:
      """
      Subscription not found: WAKE_SUB:nobody-has-this-one
      """
    When the viewer polls with the tool for no subscription since 0
    Then answer 3 has status tool-error and this body:
      """
      Missing 'subscriptionId' parameter.
      """

  @FLEET-133
  Scenario: The mark is the client's, and the server keeps none
    When the viewer polls with the tool for itself since 0
    And 1 message is written for the viewer
    And the viewer polls with the tool for itself since what answer 1 said
    Then answer 2 has status tool
    And answer 2 says:
      | member  | value |
      | pending | 1     |
    When the viewer polls with the tool for itself since what request 2 asked
    Then answer 3 says:
      | member  | value |
      | pending | 1     |
    When the viewer lists its subscriptions
    Then answer 4 has status tool
    And answer 4 does not speak of "lastPollWatermark", "watermark", "sinceLogId" or "cursor"
    And answer 4 speaks of "lastPollAt"
