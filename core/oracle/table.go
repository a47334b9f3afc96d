package oracle

// Row is one row of the gate's table: facts 2.7 as the decisions changed it. p is the held sequence. "Usable" is a safe
// integer of at least 0, "ordinary" is everything but a replacement snapshot.
type Row struct {
	ID       string
	Phase    string // where the gate stands
	Input    string
	Outcome  string // delivery, and what else changes
	Next     string // phase after it
	Decision string // what changed the facts' row, empty if nothing did
}

// Table is every row that decides something. Model.Rows names them as they are used.
var Table = []Row{
	{"G-A01", "awaiting-snapshot, nothing held", "malformed", "resnapshot-required / its own reason", "resnapshot-required", ""},
	{"G-A02", "awaiting-snapshot, nothing held", "sequence not usable", "resnapshot-required / sequence-missing", "resnapshot-required", "D-06"},
	{"G-A03", "awaiting-snapshot, nothing held", "ordinary, usable sequence", "resnapshot-required / snapshot-required", "resnapshot-required", ""},
	{"G-A04", "awaiting-snapshot, nothing held", "replacement snapshot, usable sequence", "consumer, applied", "live", ""},
	{"G-A05", "awaiting-snapshot, nothing held", "requireResnapshot", "queue answered", "resnapshot-required", ""},

	{"G-B01", "awaiting-snapshot, a recovery waits for a superseded call", "malformed", "resnapshot-required / its own reason; the recovery is answered with it", "resnapshot-required", ""},
	{"G-B02", "awaiting-snapshot, a recovery waits for a superseded call", "ordinary", "resnapshot-required / why the recovery was necessary", "unchanged", "D-11"},
	{"G-B03", "awaiting-snapshot, a recovery waits for a superseded call", "replacement snapshot that may recover", "takes the place of the waiting one, which is answered resnapshot-required", "unchanged", "D-11"},
	{"G-B04", "awaiting-snapshot, a recovery waits for a superseded call", "replacement snapshot, sequence not usable", "resnapshot-required / sequence-missing", "unchanged", "D-18"},
	{"G-B05", "awaiting-snapshot, a recovery waits for a superseded call", "replacement snapshot, sequence at most p, no epoch opened", "resnapshot-required / replacement-snapshot-required", "unchanged", "D-01"},
	{"G-B06", "awaiting-snapshot, a recovery waits for a superseded call", "requireResnapshot", "the recovery is answered", "resnapshot-required", ""},
	{"G-B07", "awaiting-snapshot, a recovery waits for a superseded call", "the call returns", "the recovery goes to the consumer", "unchanged", ""},

	{"G-C01", "awaiting-snapshot, a recovery is applied", "malformed", "resnapshot-required / its own reason; the recovery is superseded", "resnapshot-required", ""},
	{"G-C02", "awaiting-snapshot, a recovery is applied", "any event, room left", "queues behind it", "unchanged", "D-11"},
	{"G-C03", "awaiting-snapshot, a recovery is applied", "any event, no room", "resnapshot-required / buffer-overflow; the recovery is superseded", "resnapshot-required", "D-10"},
	{"G-C04", "awaiting-snapshot, a recovery is applied", "the consumer succeeds", "applied; positions and ids start over", "live", "D-02, D-03, D-04"},
	{"G-C05", "awaiting-snapshot, a recovery is applied", "requireResnapshot", "queue answered, the recovery is superseded", "resnapshot-required", ""},

	{"G-R01", "resuming", "malformed", "resnapshot-required / its own reason", "resnapshot-required", ""},
	{"G-R02", "resuming", "sequence not usable", "resnapshot-required / sequence-missing", "resnapshot-required", "D-06"},
	{"G-R03", "resuming", "merging snapshot, usable sequence", "resnapshot-required / replacement-snapshot-required", "resnapshot-required", ""},
	{"G-R04", "resuming", "sequence = p, cursor or delta token differs", "resnapshot-required / checkpoint-conflict", "resnapshot-required", "D-05"},
	{"G-R05", "resuming", "upsert, delete, delta, sequence at most p", "duplicate", "resuming", ""},
	{"G-R06", "resuming", "upsert, delete, delta, sequence p+1, new id", "consumer, applied; positions overlaid", "live", ""},
	{"G-R07", "resuming", "upsert, delete, delta, sequence above p+1", "resnapshot-required / sequence-gap", "resnapshot-required", ""},
	{"G-R08", "resuming", "replacement snapshot, sequence above p, new id", "consumer, applied; positions and ids start over", "live", "D-02, D-03"},
	{"G-R09", "resuming", "upsert, delete, delta, sequence p+1, remembered id", "resnapshot-required / event-id-reused", "resnapshot-required", ""},
	{"G-R10", "resuming", "replacement snapshot, sequence above p, remembered id", "resnapshot-required / event-id-reused", "resnapshot-required", "D-02"},
	{"G-R11", "resuming", "replacement snapshot, sequence at most p", "duplicate", "resuming", ""},

	{"G-L01", "live", "malformed", "resnapshot-required / its own reason", "resnapshot-required", ""},
	{"G-L02", "live", "sequence not usable", "resnapshot-required / sequence-missing", "resnapshot-required", "D-06"},
	{"G-L03", "live", "merging snapshot, sequence at most p", "duplicate", "live", ""},
	{"G-L04", "live", "merging snapshot, sequence p+1, new id", "consumer, applied; positions overlaid", "live", ""},
	{"G-L05", "live", "merging snapshot, sequence above p+1", "resnapshot-required / sequence-gap", "resnapshot-required", ""},
	{"G-L06", "live", "sequence = p, cursor or delta token differs", "resnapshot-required / checkpoint-conflict", "resnapshot-required", "D-05"},
	{"G-L07", "live", "upsert, delete, delta, sequence at most p", "duplicate", "live", ""},
	{"G-L08", "live", "replacement snapshot, sequence at most p", "duplicate", "live", "D-05"},
	{"G-L09", "live", "upsert, delete, delta, sequence p+1, new id", "consumer, applied; positions overlaid", "live", ""},
	{"G-L10", "live", "upsert, delete, delta, sequence above p+1", "resnapshot-required / sequence-gap", "resnapshot-required", ""},
	{"G-L11", "live", "replacement snapshot, sequence above p, new id", "consumer, applied; positions and ids start over", "live", "D-02, D-03"},
	{"G-L12", "live", "ordinary, sequence p+1, remembered id", "resnapshot-required / event-id-reused", "resnapshot-required", ""},
	{"G-L13", "live", "replacement snapshot, sequence above p, remembered id", "resnapshot-required / event-id-reused", "resnapshot-required", "D-02"},
	{"G-L14", "live, nothing pending", "position refresh, sequence = p", "no delivery, no count; positions overlaid, ids stay; one save without an event", "live", "D-28"},
	{"G-L15", "live, nothing pending", "position refresh, any other sequence", "ignored", "live", "D-28"},
	{"G-L16", "live, an event is pending or a save runs", "position refresh", "ignored", "live", "D-28"},

	{"G-N01", "resnapshot-required", "malformed", "resnapshot-required / its own reason; the stored one stays", "unchanged", "D-08"},
	{"G-N02", "resnapshot-required", "ordinary", "resnapshot-required / stored reason", "unchanged", ""},
	{"G-N03", "resnapshot-required", "replacement snapshot, sequence not usable", "resnapshot-required / sequence-missing; the stored one stays", "unchanged", "D-18"},
	{"G-N04", "resnapshot-required, no epoch opened", "replacement snapshot, sequence at most p", "resnapshot-required / replacement-snapshot-required; the stored one stays", "unchanged", "D-01"},
	{"G-N05", "resnapshot-required, no epoch opened", "replacement snapshot, sequence above p", "becomes the recovery", "awaiting-snapshot", "D-01"},
	{"G-N06", "resnapshot-required, epoch opened", "replacement snapshot, sequence at most p", "becomes the recovery", "awaiting-snapshot", ""},
	{"G-N07", "resnapshot-required, epoch opened", "replacement snapshot, sequence = p, cursor or delta token differs", "becomes the recovery", "awaiting-snapshot", "D-04"},
	{"G-N08", "resnapshot-required, epoch opened", "replacement snapshot, sequence above p", "becomes the recovery", "awaiting-snapshot", ""},
	{"G-N09", "resnapshot-required, nothing held", "replacement snapshot, usable sequence", "becomes the recovery", "awaiting-snapshot", "D-01"},
	{"G-N10", "resnapshot-required", "requireResnapshot", "opens the epoch; first reason and counters stay", "unchanged", "D-29"},

	{"G-O01", "any open, no recovery", "any event, no room", "resnapshot-required / buffer-overflow; queue answered, the running call superseded", "resnapshot-required", "D-10"},
	{"G-O02", "resuming or live", "requireResnapshot", "queue answered, the running call superseded", "resnapshot-required", ""},
	{"G-O03", "any open but resnapshot-required", "requireResnapshot(transport-gap)", "one gap more", "resnapshot-required", ""},
	{"G-O04", "any open", "close", "queue cancelled / closed", "closed", ""},
	{"G-O05", "any open", "the application's context ends", "queue cancelled / cancelled", "closed", ""},
	{"G-O06", "any open", "the consumer fails, not superseded", "error / consumer-failed; queue answered with it", "error", "D-12"},
	{"G-O07", "live", "the save fails, not superseded", "error / checkpoint-save-failed; the position stays", "error", ""},
	{"G-O08", "any open", "failure from outside (delivery-failed)", "queue answered with it", "error", ""},
	{"G-O09", "any", "a superseded consumer call returns, well or not", "cancelled / cancelled; nothing else changes", "unchanged", ""},
	{"G-O10", "any", "a superseded save returns, well or not", "cancelled / cancelled; the position stays, not persisted", "unchanged", ""},
	{"G-O11", "any open", "superseded before the consumer call was taken", "withdrawn, answered like a queued event", "unchanged", ""},
	{"G-O12", "live", "superseded before the save was taken", "withdrawn, cancelled / cancelled", "unchanged", ""},
	{"G-O13", "live", "the save succeeds", "persisted; applied", "live", "D-09"},
	{"G-O14", "live", "accepted, no save due yet", "applied, not persisted", "live", "D-16"},
	{"G-O15", "live", "the queue runs empty behind duplicates, something unsaved", "one save without an event", "live", "D-16"},
	{"G-O16", "any open but live", "position refresh", "ignored", "unchanged", "D-28"},

	{"G-E01", "error", "any event", "error / stored reason", "error", ""},
	{"G-E02", "error", "requireResnapshot", "ignored", "error", ""},
	{"G-E03", "error", "close", "", "closed", ""},
	{"G-E04", "error", "failure from outside", "ignored", "error", ""},
	{"G-E05", "error", "position refresh", "ignored", "error", "D-28"},

	{"G-X01", "closed", "any event", "cancelled / stored reason", "closed", ""},
	{"G-X02", "closed", "requireResnapshot", "ignored", "closed", ""},
	{"G-X03", "closed", "close, failure from outside", "ignored, the first reason stays", "closed", ""},
	{"G-X04", "closed", "position refresh", "ignored", "closed", "D-28"},
}

// Abolished are the rows of facts 2.7 that a decision replaced, and what holds instead.
var Abolished = []Row{
	{"G-Z01", "resnapshot-required", "malformed", "was: its reason is stored (now G-N01)", "", "D-08"},
	{"G-Z02", "resnapshot-required after trouble that the gate found", "replacement snapshot, sequence at most p", "was: becomes the recovery (now G-N04)", "", "D-01"},
	{"G-Z03", "a recovery waits", "ordinary, room left", "was: queues behind the waiting recovery (now G-B02)", "", "D-11"},
	{"G-Z04", "a recovery waits", "second replacement snapshot, no room", "was: overflow answers both (now G-B03)", "", "D-11"},
	{"G-Z05", "recovery at its turn", "sequence not usable", "was: sequence-missing is stored (now G-N03)", "", "D-18"},
	{"G-Z06", "recovery at its turn", "sequence = p, cursor or delta token differs", "was: checkpoint-conflict, again and again (now G-N07)", "", "D-04"},
	{"G-Z07", "resuming or live", "replacement snapshot, sequence above p", "was: ids and positions carried over (now G-R08, G-L11)", "", "D-02, D-03"},
	{"G-Z08", "resnapshot-required", "requireResnapshot", "was: the new reason is stored, transport-gap counted (now G-N10)", "", "D-29"},
	{"G-Z09", "live", "64 events in the turn in which a delivery resolved", "was: the freed slot still counts, 63 fit (now 64)", "", "D-10"},
	{"G-Z10", "resuming", "position handed in by the caller", "was: persisted from the start (now what Start says)", "", "D-09"},
}
