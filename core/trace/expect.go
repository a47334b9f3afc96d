package trace

// Expectation is what a scenario says should be true at that place of its trace. A step records one; only the judge
// decides whether it holds. Each has a fixed set of arguments, stated here in words and in expectargs.go as data; Expect refuses any other.
type Expectation string

// The vocabulary. "events" are written `type seq`, for example `snapshot 5`, separated by `, `.
const (
	ExpectConsumerSaw    Expectation = "consumer-saw"     // events: exactly these reached the consumer, in this order, since the start
	ExpectConsumerNotSaw Expectation = "consumer-not-saw" // seq or id: never reached the consumer
	ExpectDelivery       Expectation = "delivery"         // event (type seq) or id; status; reason optional ("" for none): some delivery of it ended so
	ExpectPhase          Expectation = "phase"            // phase; reason ("" for none), detail optional: the gate's state here
	ExpectCounts         Expectation = "counts"           // any of accepted, duplicates, gaps, overflows: the gate's counters here
	ExpectRequests       Expectation = "requests"         // count, or min, max: requests the server saw so far
	ExpectRequest        Expectation = "request"          // n; from ("snapshot" or a sequence), status optional: the n-th request the server saw
	ExpectReceived       Expectation = "received"         // what (close, ping, pong, text, binary); detail (a close code), count (else at least 1) optional: what the server heard
	ExpectResumeTries    Expectation = "resume-tries"     // seq; count: requests that carried the position of seq
	ExpectWait           Expectation = "wait"             // n (n-th back-off, from 1); ms or min, max: the delay chosen
	ExpectObservation    Expectation = "observation"      // status: the session's last observation here
	ExpectEnding         Expectation = "ending"           // status; reason, detail optional: how the session ended
	ExpectRunning        Expectation = "running"          // the session has not ended
	ExpectStored         Expectation = "stored"           // seq, or "nothing": what the store holds here
	ExpectPersisted      Expectation = "persisted"        // value ("true" or "false"): what the gate says about the held position
	ExpectStateOf        Expectation = "state-of"         // seq: the consumer's rows equal the feed's at seq
	ExpectConverged      Expectation = "converged"        // the consumer's rows equal the feed's at its head
	ExpectPluginStarts   Expectation = "plugin-starts"    // count
	ExpectPluginExit     Expectation = "plugin-exit"      // detail (part of it)
	ExpectMeasured       Expectation = "measured"         // name; max or min or equals: a PluginMeasured argument
	ExpectFaultStruck    Expectation = "fault-struck"     // name; count optional (at least 1): the fault really happened (else the row was not exercised)
	ExpectLane           Expectation = "lane"             // any of status (alive, unknown), reason, mark, wakes, dropped, dropped-as, catchUp, pending ("null": not known), catchUp-reason, delivery, delivery-reason, failure, failure-reason: what the lane shows here
	ExpectPolls          Expectation = "polls"            // count, or min, max: catch-up polls that the server answered so far
	ExpectPoll           Expectation = "poll"             // n; since, id optional: the n-th poll that the server saw
	ExpectBearers        Expectation = "bearers"          // n; class, count: credentials that the n-th request to the server brought
	ExpectAnswer         Expectation = "answer"           // n; any of status, body (in full), member with value, header with value, media (type without parameters), with and without (a text in the body): the answer to the examiner's n-th request; a value is JSON text, of a header its text, or absent, a number, a text
	ExpectHeard          Expectation = "heard"            // n; what (a type); any of count, min, max, member with value (of the last one): what the n-th request's stream carried
	ExpectBegan          Expectation = "began"            // n; with (`type data`, `type`, ... in order): how the n-th request's stream began
	ExpectChanges        Expectation = "changes"          // n; first, last; order (any, else as they were made): the n-th request's stream carried these changes of a feed, each once and no other one
	ExpectHonest         Expectation = "honest"           // n; last: either nothing behind the change that the n-th request came back with is missing, or the answer says so as the subject declares
	ExpectIDs            Expectation = "ids"              // each change that was heard had an id that no other one had
	ExpectStream         Expectation = "stream"           // n; is (open, over): the n-th request's stream here
	ExpectElapsed        Expectation = "elapsed"          // between two records: from, to (server request n / closed n, client connect n); min, max in ms
)
