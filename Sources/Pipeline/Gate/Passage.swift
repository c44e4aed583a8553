import Nostr
import Registry

/// What the gate makes of an event. Every event in here is verified.
enum Passage {
    /// It goes no further; the verdict is what its sender is told.
    case stopped(PipelineStep, EventVerdict)
    /// It is another copy of one that is on its way.
    case repeated(EventID)
    /// It is to be learned from, and nothing else.
    case fetched(Event)
    /// It registers a device, by its kind.
    case registration(Event)
    /// It is a request to us (NIP-46).
    case request(Event)
    /// It is a list of relays or devices (kind 10002 or 10050). Those wake nobody, whomever they name.
    case list(Event)
    /// It takes events of its author's back (kind 5 or 62). It wakes nobody.
    case deletion(Event)
    /// It is an account's own list, the newest of its kind, and names these.
    case recipientList(Event, [MatchHit])
    /// It is a wake-up hint for these accounts (kind 20062).
    case hint(Event, [MatchHit])
    /// It concerns nobody.
    case unaddressed(ScannedEvent)
    /// It names these accounts.
    case addressed(Event, [MatchHit])
}
