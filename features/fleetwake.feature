@fleetwake
Feature: A wake is a hint, and the poll is the truth
  Who takes the push for the truth misses what was written while nobody listened, and shows a lane as alive that nobody has heard of for
  minutes. The relay listens for speed, asks once per connection for what it missed, and says what it does not know.

  Background:
    Given these settings:
      | setting     | value |
      | option poll | url   |

  @FLEET-001 @virtual @process
  Scenario: One credential, and no header made up beside it
    When the relay is started
    And the catch-up has come to done
    Then request 1 brought 1 credential of class 1 and no other
    And request 2 brought 1 credential of class 3 and no other
    And the lane is alive: "composed wake stream connected · armed for this viewer"

  @FLEET-016 @virtual @process
  Scenario: One secret in two places is sent nowhere
    A secret of the plane that is shown at the fleet's door is no secret of the plane any more.

    Given these settings:
      | setting | value |
      | bearer  | plane |
    When the relay is started
    And the session is over
    Then the session ended as refused
    And the server has seen exactly 0 requests

  @FLEET-002 @virtual @process
  Scenario Outline: A credential of <what>
    A stream that was refused proves nothing about the lane, and the same credential is not thrown at the door for ever.

    Given these settings:
      | setting     | value    |
      | bearer      | <bearer> |
      | poll bearer | none     |
    When the relay is started
    And the session is over
    Then request 1 was answered with 401
    And the session ended as refused
    And the lane is unknown: "wake stream disconnected (stream refused: HTTP 401) — poll remains the truth lane"
    And the server has answered 0 polls

    Examples:
      | what                            | bearer     |
      | the class that is for the plane | plane      |
      | nobody that the server knows    | unknown    |
      | possession and no identity      | possession |

  @FLEET-003 @virtual @process
  Scenario: A cold start finds what was written before
    No wake is ever sent for it. Without the poll it would lie there until the next one.

    Given these settings:
      | setting | value |
      | arming  | later |
    When the relay is started
    And the relay has heard 1 state
    And 3 messages are written for the viewer
    And the server arms the viewer
    And the stream breaks
    And the catch-up has come to done
    Then the server has answered 1 poll
    And poll 1 asked for "WAKE_SUB:relay" since 0
    And the catch-up is done, 3 pending
    And 0 wakes have counted
    And the mark is 3
    And the lane is alive: "composed wake stream connected · armed for this viewer · 3 pending caught up"

  @FLEET-004 @virtual @process
  Scenario: A wake moves the mark, and the next connection asks from there
    When the relay is started
    And the catch-up has come to done
    And 1 message is written for the viewer
    And the relay has counted 1 wake
    Then the mark is 1
    And the server has answered 1 poll
    When the server falls silent
    And 2 messages are written for the viewer
    And the server speaks again
    And the stream ends
    And the relay has heard 2 states
    And the catch-up has come to done
    Then the server has answered 2 polls
    And poll 2 asked for "WAKE_SUB:relay" since 1
    And the catch-up is done, 2 pending
    And the mark is 3

  @FLEET-004 @virtual @process
  Scenario: A new process begins at nothing
    The mark is the client's alone: no server keeps it.

    When the relay is started
    And the catch-up has come to done
    And 2 messages are written for the viewer
    And the relay has counted 1 wake
    And the relay is stopped
    And the relay is started again
    And the catch-up has come to done
    Then poll 2 asked for "WAKE_SUB:relay" since 0
    And the catch-up is done, 2 pending

  @FLEET-005 @virtual @process
  Scenario: Two polls are one too many
    When the relay is started
    And the catch-up has come to done
    And 1 message is written for the viewer
    And 1 message is written for the viewer
    And the relay has counted 2 wakes
    Then the server has answered 1 poll
    And the mark is 2
    When the stream breaks
    And the relay has heard 2 states
    And the catch-up has come to done
    Then the server has answered 2 polls

  @FLEET-006 @virtual @process
  Scenario: Nobody vouched for an id
    An id of yesterday, or of a setting, may be somebody else's.

    Given these settings:
      | setting | value |
      | arming  | later |
    When the relay is started
    And the relay has heard 1 state
    And the catch-up has come to not-fired
    Then the server has answered 0 polls
    And the catch-up is not-fired: "no subscription id is vouched on this connection"
    And the lane is alive: "composed wake stream connected · not armed for this viewer (not-armed: arming has not run)"

  @FLEET-006 @virtual @process
  Scenario: The id of the last connection counts no more
    When the relay is started
    And the catch-up has come to done
    And the server disarms the viewer
    And the stream breaks
    And the relay has heard 2 states
    And the catch-up has come to not-fired
    Then the server has answered 1 poll
    And the catch-up is not-fired: "no subscription id is vouched on this connection"
    And the lane is alive: "composed wake stream connected · not armed for this viewer (armed)"

  @FLEET-006 @virtual @process
  Scenario: A wake teaches the id, and the poll begins before it
    What was lost before the wake that taught the id lies below it.

    Given these settings:
      | setting | value |
      | arming  | later |
    When the relay is started
    And the relay has heard 1 state
    And 2 messages are written for somebody else
    And the server writes this frame:
      """
      event: wake
      data: {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"EVT:1","logId":2,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}}
      """
    And the catch-up has come to failed
    Then the catch-up is failed: "HTTP 404"
    And the mark is 2
    And 1 wake has counted and 0 have not

  @FLEET-007 @virtual @process
  Scenario: The poll fails, and no number is made up
    When the next 1 poll fails
    And 1 message is written for the viewer
    And the relay is started
    And the catch-up has come to failed
    Then the catch-up is failed, an unknown number pending: "HTTP 500"
    And the mark is 0
    And the lane is alive: "composed wake stream connected · armed for this viewer"
    When 1 message is written for the viewer
    And the relay has counted 1 wake
    Then the server has answered 0 polls
    When the stream ends
    And the catch-up has come to done
    Then the catch-up is done, 0 pending
    And poll 1 asked for "WAKE_SUB:relay" since 2

  @FLEET-007 @virtual @process
  Scenario: No credential for the poll
    Given these settings:
      | setting     | value |
      | poll bearer | none  |
    When the relay is started
    And the catch-up has come to failed
    Then the catch-up is failed, an unknown number pending: "HTTP 401"
    And the lane is alive: "composed wake stream connected · armed for this viewer"

  @FLEET-007 @virtual
  Scenario: The poll is never answered
    When the server holds back its answers to polls
    And the relay is started
    And the relay has heard 1 state
    And 14,000 ms pass
    Then the catch-up is unknown: "catch-up poll not answered yet"
    And the lane is alive: "composed wake stream connected · armed for this viewer"
    When the catch-up has come to failed
    Then the catch-up is failed, an unknown number pending: "no answer in time"

  @FLEET-007 @virtual @process
  Scenario: There is no way to poll
    Given these settings:
      | setting     | value |
      | option poll | none  |
    When the relay is started
    And the relay has heard 1 state
    And the relay shows alive
    And the catch-up has come to no-seam
    Then the catch-up is no-seam: "no way to poll was set up"
    And the lane is alive: "composed wake stream connected · armed for this viewer"
    And the server has answered 0 polls

  @FLEET-008 @process
  Scenario: The poll as a tool call
    Given these settings:
      | setting     | value |
      | option poll | mcp   |
    When 4 messages are written for the viewer
    And the relay is started
    And the catch-up has come to done
    Then poll 1 asked for "WAKE_SUB:relay" since 0
    And the catch-up is done, 4 pending
    And the mark is 4
    And request 2 brought 1 credential of class 1 and no other
    And request 3 brought 1 credential of class 3 and no other

  @FLEET-009 @virtual @process
  Scenario Outline: A wake that is <what> moves nothing
    When the relay is started
    And the catch-up has come to done
    And the server writes this frame:
      """
      event: wake
      data: <data>
      """
    And the relay has dropped 1 wake
    Then 0 wakes have counted and 1 has not, the last as <word>
    And the mark is 0
    And the session is still running
    And the lane is alive: "composed wake stream connected · armed for this viewer"

    Examples:
      | what                      | word                       | data |
      | nothing                   | invalid-frame              | null |
      | no JSON                   | invalid-frame              | {"subscriptionId":"WAKE_SUB:relay", |
      | for another subscription  | foreign-subscription       | {"subscriptionId":"WAKE_SUB:other","envelope":{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"E","logId":99,"agentIdentity":"@other","subscriptionId":"WAKE_SUB:other","payload":{},"emittedAt":"2026-08-14T08:00:00.000Z"}} |
      | of another schema version | unsupported-schema-version | {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"2.0"}} |
      | of another event type     | unsupported-event-type     | {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/other","eventId":"E","logId":99,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{},"emittedAt":"2026-08-14T08:00:00.000Z"}} |

  @FLEET-010 @virtual
  Scenario: 90,000 ms are fresh, and one more is not
    A stream that hangs looks like one on which nothing happens.

    When the relay is started
    And the catch-up has come to done
    And the server falls silent
    And 90,000 ms pass since the last sign of life
    Then the lane is alive: "composed wake stream connected · armed for this viewer"
    When 1 ms pass
    And the relay shows unknown
    Then the lane is unknown: "wake stream silent for 90s — liveness unconfirmed"
    And the delivery axis is unknown with "wake stream silent for 90s — liveness unconfirmed"
    And the session is still running
    When the server speaks again
    And the relay shows alive
    Then the lane is alive: "composed wake stream connected · armed for this viewer"

  @FLEET-010 @virtual
  Scenario: A comment is a sign of life
    When the relay is started
    And the catch-up has come to done
    And 900,000 ms pass
    Then the lane is alive: "composed wake stream connected · armed for this viewer"
    And the server has seen 2 requests

  @FLEET-010 @virtual
  Scenario: 300 s of silence end the connection
    When the relay is started
    And the catch-up has come to done
    And the server falls silent
    And the client has waited 1 time
    Then the lane is unknown: "wake stream disconnected (stream error: idle) — poll remains the truth lane"
    When the relay shows alive
    Then request 3 came at least 300,000 ms after request 1

  @FLEET-011 @virtual
  Scenario: Each attempt waits longer, to the cap
    Given these settings:
      | setting | value |
      | jitter  | 0     |
    When the server cannot be reached
    And the relay is started
    And the client has waited 6 times
    Then wait 1 was 5,000 ms
    And wait 2 was 10,000 ms
    And wait 3 was 20,000 ms
    And wait 4 was 40,000 ms
    And wait 5 was 60,000 ms
    And wait 6 was 60,000 ms
    And the lane is unknown: "wake stream disconnected (connect failed: abnormal-end) — poll remains the truth lane"
    When the server can be reached again
    And the relay shows alive
    Then the lane is alive: "composed wake stream connected · state event pending"

  @FLEET-011 @virtual
  Scenario: The server's hint is never undercut
    Given these settings:
      | setting    | value |
      | retry hint | 20000 |
      | jitter     | 0     |
    When the relay is started
    And the catch-up has come to done
    And the stream ends
    And the client has waited 1 time
    Then wait 1 was 20,000 ms

  @FLEET-011 @virtual
  Scenario: A short hint does not make the relay knock faster
    Given these settings:
      | setting    | value |
      | retry hint | 100   |
      | jitter     | 0     |
    When the relay is started
    And the catch-up has come to done
    And the stream ends
    And the client has waited 1 time
    Then wait 1 was 5,000 ms

  @FLEET-012 @virtual @process
  Scenario Outline: The stream <how>
    When the relay is started
    And the catch-up has come to done
    And the stream <how>
    And the client has waited 1 time
    And the relay has heard 2 states
    And the catch-up has come to done
    Then the server has answered 2 polls
    And the lane is alive: "composed wake stream connected · armed for this viewer"

    Examples:
      | how      |
      | ends     |
      | breaks   |
      | is reset |

  @FLEET-012 @virtual @process
  Scenario: The server is restarted
    Its routes are gone until it arms again, and the log is another's.

    When the relay is started
    And the catch-up has come to done
    And 1 message is written for the viewer
    And the relay has counted 1 wake
    And the server is restarted
    And the relay has heard 2 states
    And the catch-up has come to done
    Then poll 2 asked for "WAKE_SUB:relay" since 1
    And the mark is 1

  @FLEET-012 @virtual @process
  Scenario: A log that begins again cannot be seen
    The mark stays, and nothing is counted that was not.

    When the relay is started
    And the catch-up has come to done
    And 5 messages are written for the viewer
    And the relay has counted 1 wake
    And the plane's log is lost and goes on behind 0
    And the stream ends
    And the relay has heard 2 states
    And the catch-up has come to done
    Then the mark is 5
    And the catch-up is done, 0 pending

  @FLEET-013 @virtual @process
  Scenario: What a stopped relay shows
    When the relay is started
    And the catch-up has come to done
    And the relay is stopped
    Then the lane is unknown: "wake stream consumer not running"
    And the catch-up is unknown: "wake stream consumer not running"
    And the delivery axis is unknown with "wake stream consumer not running"

  @FLEET-013 @virtual @process
  Scenario: A live lane, as the routes view shows it
    The view has no reason beside alive. That receipts exist is not known from a stream, whatever it brings.

    When the relay is started
    And 1 message is written for the viewer
    And the catch-up has come to done
    Then the delivery axis is alive with no reason
    And the failure axis is unknown with "terminal delivery receipts live with the containerized delivery authority; not exposed yet"

  @FLEET-013 @virtual @process
  Scenario: A lane without its state frame
    Given these settings:
      | setting     | value |
      | option poll | none  |
    When the relay is started
    And the relay has heard 1 state
    And the server writes this frame:
      """
      event: state
      data: {"armed":true,"armedForViewer":"yes","reason":"armed","lastPushAt":null,"connectedIdentities":0,"subscriptionId":"WAKE_SUB:other"}
      """
    And the relay has dropped 1 state
    Then 0 wakes have counted and 1 has not, the last as invalid-state-frame
    And the lane is alive: "composed wake stream connected · armed for this viewer"

  @FLEET-014 @virtual @process
  Scenario: A credential that stays refused is not tried for ever
    Given these settings:
      | setting     | value   |
      | bearer      | unknown |
    When the relay is started
    And the session is over
    Then the session ended as refused
    And the server has seen at most 2 requests

  @FLEET-014 @virtual @process
  Scenario: A renewed credential opens the lane again
    When the relay is started
    And the catch-up has come to done
    And the viewer's credential of class 1 is revoked
    And the stream ends
    And the relay has heard 2 states
    And the catch-up has come to done
    Then the lane is alive: "composed wake stream connected · armed for this viewer"
    And the session is still running

  @FLEET-015 @virtual
  Scenario: Too many attempts are a wait, not an end
    Given these settings:
      | setting         | value |
      | viewer attempts | 1     |
      | retry after     | on    |
      | jitter          | 0     |
    When the relay is started
    And the catch-up has come to done
    And the stream ends
    And the relay has heard 2 states
    And the catch-up has come to done
    Then request 3 was answered with 429
    And request 4 came at least 55,000 ms after request 3
    And the lane is alive: "composed wake stream connected · armed for this viewer"

  @FLEET-017 @process
  Scenario Outline: The credential <where>
    The direct value wins, then the file, then there is none. White space and line ends around it are taken off.

    Given these settings:
      | setting                                | value    |
      | leaf fleet.planeAdmissionBearer        | <direct> |
      | leaf fleet.planeAdmissionBearerFile    | <file>   |
      | leaf fleet.planeBearer                 | plane    |
    When the relay is started
    And the catch-up has come to done
    Then the plugin's "boot" is "started"
    And request 1 brought 1 credential of class 1 and no other
    And request 2 brought 1 credential of class 3 and no other

    Examples:
      | where                          | direct             | file               |
      | stands directly                | own                | a missing file     |
      | stands directly, with a file   | own                | bootstrap          |
      | stands in a file               | nothing            | own with line ends |
      | has line ends where it stands  | own with line ends | nothing            |

  @FLEET-017 @process
  Scenario Outline: No credential: <what>
    There is no substitute, and the reason names the leaves and what is wrong with the file.

    Given these settings:
      | setting                             | value  |
      | leaf fleet.planeAdmissionBearerFile | <file> |
      | leaf fleet.planeBearer              | plane  |
    When the relay is started
    Then the plugin's "boot" is "unarmed"
    And the lane is unknown: "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile) — poll remains the truth lane · fleet.planeAdmissionBearerFile: <why>"
    And the server has seen exactly 0 requests

    Examples:
      | what                     | file           | why                                                                          |
      | the file is not there    | a missing file | file SECRETS/fleet.planeAdmissionBearerFile: no such file or directory       |
      | the file is a folder     | a folder       | file SECRETS/fleet.planeAdmissionBearerFile is no regular file               |
      | the file is empty        | nothing        | file SECRETS/fleet.planeAdmissionBearerFile is empty                         |

  @FLEET-017 @process
  Scenario: A credential for the plane alone opens nothing
    Given these settings:
      | setting                | value |
      | leaf fleet.planeBearer | plane |
    When the relay is started
    Then the plugin's "boot" is "unarmed"
    And the lane is unknown: "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile) — poll remains the truth lane"
    And the delivery axis is unknown with "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile) — poll remains the truth lane"
    And the server has seen exactly 0 requests

  @FLEET-018 @process
  Scenario Outline: The same secret as <what> refuses the boot
    Given these settings:
      | setting                             | value     |
      | leaf fleet.planeAdmissionBearerFile | <own>     |
      | leaf fleet.planeBearer              | <plane>   |
      | leaf fleet.admissionTokenFile       | bootstrap |
    When the relay is started
    Then the plugin's "boot" is "refused"
    And the plugin's "refusal" is "<refusal>"
    And the server has seen exactly 0 requests

    Examples:
      | what                             | own       | plane     | refusal |
      | the plane's                      | plane     | plane     | fleet.planeAdmissionBearerFile holds the same secret as fleet.planeBearer, the plane-MCP bearer; the credential-class ledger forbids one secret in two classes: mint another one |
      | the bootstrap token              | bootstrap | plane     | fleet.planeAdmissionBearerFile holds the same secret as fleet.admissionTokenFile, the bootstrap/healthcheck admission token; the credential-class ledger forbids one secret in two classes: mint another one |
      | the bootstrap token, the plane's | own       | bootstrap | fleet.planeBearer holds the same secret as fleet.admissionTokenFile, the bootstrap/healthcheck admission token; the credential-class ledger forbids one secret in two classes: mint another one |

  @FLEET-018 @process
  Scenario: A bootstrap token that cannot be read is compared with nothing
    The relay starts all the same: it is another one's file, and its own credential is as good as before.

    Given these settings:
      | setting                             | value          |
      | leaf fleet.planeAdmissionBearerFile | own            |
      | leaf fleet.planeBearer              | plane          |
      | leaf fleet.admissionTokenFile       | a missing file |
    When the relay is started
    And the catch-up has come to done
    Then the plugin's "boot" is "started"
    And request 1 brought 1 credential of class 1 and no other

  @FLEET-019 @virtual @process
  Scenario: Half a frame is no frame yet
    When the relay is started
    And the catch-up has come to done
    And the server writes this, and no more:
      """
      event: wake
      data: {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/di
      """
    And the server writes this frame:
      """
      gest","eventId":"EVT:1","logId":41,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}}
      """
    And the relay has counted 1 wake
    Then 1 wake has counted and 0 have not
    And the mark is 41

  @FLEET-019 @virtual @process
  Scenario: Lines of data are one text, and a comment between them is none of it
    When the relay is started
    And the catch-up has come to done
    And the server writes this frame:
      """
      event: wake
      retry: 7000
      :hb
      data: {"subscriptionId":"WAKE_SUB:relay","envelope":{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"EVT:1",
      data: "logId":42,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}}
      """
    And the relay has counted 1 wake
    Then 1 wake has counted and 0 have not
    And the mark is 42
    And the server has answered 1 poll
